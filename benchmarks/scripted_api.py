"""The Messages API of Anthropic and the embeddings of OpenAI, in their wire format, on 127.0.0.1."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "scripted"
DIMENSIONS = 1536
_FACT = re.compile(r"(\w+\d+) (likes|knows) (\w+\d+)\.")


@contextmanager
def scripted_api() -> Generator[dict[str, str]]:
    """Serves until the end of the block; the environment that leads a gligabao process to it."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield {
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": address,
            "OPENAI_API_KEY": KEY,
            "OPENAI_BASE_URL": f"{address}/v1",
        }
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Answers at once, over connections that stay open."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle(self) -> None:
        with suppress(ConnectionError):  # whoever asked has been killed
            super().handle()

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        sent = self.rfile.read(length)
        if len(sent) < length:
            self.close_connection = True
            return
        body = json.loads(sent)
        reply = json.dumps(_embeddings(body) if self.path == "/v1/embeddings" else _message(body)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


def _message(body: Mapping[str, Any]) -> dict[str, Any]:
    """What a model would say: the facts of a text, an answer to a question, nothing to anything else."""
    asked: str = body["messages"][0]["content"]
    properties = body["output_config"]["format"]["schema"]["properties"]
    if "answer" in properties:
        said = _answer(asked)
    elif "edges" in properties:
        said = _graph(asked)
    else:
        said: dict[str, Any] = {"results": []}
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [{"type": "text", "text": json.dumps(said), "citations": None}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "stop_details": None,
        "usage": {"input_tokens": len(asked) // 4, "output_tokens": 100},
    }


def _graph(prompt: str) -> dict[str, Any]:
    """The facts of the form "person1 likes thing2." that stand in the text."""
    facts = _FACT.findall(prompt)
    names = dict.fromkeys(name for source, _, target in facts for name in (source, target))
    return {
        "entities": [{"name": name, "type": "thing", "description": ""} for name in names],
        "edges": [fact(source, relation, target) for source, relation, target in facts],
    }


def fact(source: str, relation: str, target: str) -> dict[str, Any]:
    """A fact as a model writes it, and as a caller gives it."""
    said = f"{source} {relation} {target}."
    return {"source": source, "target": target, "relation": relation, "description": said}


def _answer(prompt: str) -> dict[str, Any]:
    """An answer that cites the first fact it was shown."""
    edge = re.search(r"\[edge (\d+)\] \S+", prompt)
    return {"answer": "Yes.", "entities": [], "edges": [int(edge[1])] if edge else []}


def _embeddings(body: Mapping[str, Any]) -> dict[str, Any]:
    data = [
        {"object": "embedding", "index": index, "embedding": _vector(text)} for index, text in enumerate(body["input"])
    ]
    tokens = sum(len(text) // 4 for text in body["input"])
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": body["model"], "data": data, "usage": usage}


def _vector(text: str) -> str:
    """The same numbers for the same text, as the base64 that the SDK asks for."""
    values = hashlib.shake_128(text.encode()).digest(DIMENSIONS)
    return base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *(value / 255 - 0.5 for value in values))).decode()
