"""A real HTTP server on 127.0.0.1 that speaks what we use of the providers' APIs and says what a test tells it to."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

MESSAGES = "/v1/messages"
CHAT = "/v1/chat/completions"
EMBEDDINGS = "/v1/embeddings"
JEV = "/v1/systemone"


@dataclass(frozen=True)
class Said:
    """A reply as it goes over the wire. A `body` of str is sent as it is."""

    body: Mapping[str, Any] | str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Asked:
    """A request as it came over the wire."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


Script = Said | Callable[[dict[str, Any]], Said | Awaitable[Said]]


class Slow:
    """A reply that comes once the test lets it. Others are answered meanwhile."""

    def __init__(self, said: Said) -> None:
        self.asked = threading.Event()
        self._said = said
        self._let = threading.Event()

    def let(self) -> None:
        """From now on it answers, and at once."""
        self._let.set()

    async def __call__(self, _body: dict[str, Any]) -> Said:
        self.asked.set()
        while not self._let.is_set():
            await asyncio.sleep(0.01)
        return self._said


class _Server(uvicorn.Server):
    """Tells when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


class Wire:
    """The server. `says` queues replies in order, `always` answers when the queue is empty."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.hung_up = 0
        """How many requests whose reply is slow were given up before it came."""
        self._script: deque[Script] = deque()
        self._always: Script | None = None
        paths = (MESSAGES, CHAT, EMBEDDINGS, JEV)
        app = Starlette(routes=[Route(path, self._answer, methods=["POST"]) for path in paths])
        config = uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None, lifespan="off", ws="none")
        self._server = _Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    @property
    def url(self) -> str:
        """The address, without a path."""
        port: int = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    def says(self, *script: Script) -> None:
        """Adds replies; one may be made from the body of its request."""
        self._script.extend(script)

    def always(self, script: Script) -> None:
        """The reply to whatever comes when no other is left."""
        self._always = script

    def forget(self) -> None:
        """Back to the start: nothing asked, nothing scripted."""
        self.asked.clear()
        self.hung_up = 0
        self._script.clear()
        self._always = None

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies that came, in order."""
        return [asked.body for asked in self.asked]

    async def _answer(self, request: Request) -> Response:
        body: dict[str, Any] = json.loads(await request.body())
        self.asked.append(Asked(request.url.path, dict(request.headers), body))
        script = self._script.popleft() if self._script else self._always
        if script is None:
            return _response(error(500, "api_error", "nothing is scripted"))
        said = script(body) if callable(script) else script
        return _response(said if isinstance(said, Said) else await self._unless_gone(request, said))

    async def _unless_gone(self, request: Request, reply: Awaitable[Said]) -> Said:
        said = asyncio.ensure_future(reply)
        while not said.done():
            await asyncio.wait([said], timeout=0.02)
            if not said.done() and await request.is_disconnected():
                self.hung_up += 1
                said.cancel()
                return Said({})
        return said.result()

    def __enter__(self) -> Wire:
        self._thread.start()
        assert self._server.ready.wait(10), "the server did not start"
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        self._server.should_exit = True
        self._thread.join(10)


def _response(said: Said) -> Response:
    # The SDKs wait about a second between tries; tests do not.
    headers = {"retry-after-ms": "1", **said.headers}
    if isinstance(said.body, str):
        return Response(said.body, said.status, headers, media_type="text/html")
    return Response(json.dumps(said.body), said.status, headers, media_type="application/json")


def message(
    text: str = "{}",
    *,
    model: str = "claude-haiku-5-5",
    stop_reason: str = "end_turn",
    category: str | None = None,
    thought: bool = False,
    usage: Mapping[str, Any] | None = None,
) -> Said:
    """A reply of the Messages API; with `thought`, an empty block of thoughts comes first."""
    thoughts = [{"type": "thinking", "thinking": "", "signature": "s"}] if thought else []
    details = {"type": "refusal", "category": category, "explanation": None} if stop_reason == "refusal" else None
    return Said(
        {
            "id": "msg_01",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [*thoughts, {"type": "text", "text": text, "citations": None}],
            "stop_reason": stop_reason,
            "stop_sequence": None,
            "stop_details": details,
            "usage": usage or {"input_tokens": 620, "output_tokens": 180},
        },
        headers={"request-id": "req_1"},
    )


def chat(
    text: str | None = "{}",
    *,
    model: str = "qwen3",
    finish_reason: str = "stop",
    refusal: str | None = None,
    usage: Mapping[str, Any] | None = None,
) -> Said:
    """A reply of chat completions."""
    said = {"role": "assistant", "content": text, "refusal": refusal}
    return Said(
        {
            "id": "c1",
            "object": "chat.completion",
            "created": 1,
            "model": model,
            "choices": [{"index": 0, "finish_reason": finish_reason, "message": said}],
            "usage": usage or {"prompt_tokens": 3000, "completion_tokens": 80, "total_tokens": 3080},
        },
        headers={"x-request-id": "req_2"},
    )


def embeddings(
    vector: Callable[[str], Sequence[float]], *, model: str = "text-embedding-3-small", shuffled: bool = True
) -> Callable[[dict[str, Any]], Said]:
    """Vectors for whatever texts come, as base64 where that is asked for, by default not in their order."""

    def reply(body: dict[str, Any]) -> Said:
        as_base64 = body.get("encoding_format") == "base64"
        data = [
            {"object": "embedding", "index": index, "embedding": _base64(values) if as_base64 else list(values)}
            for index, values in enumerate(map(vector, body["input"]))
        ]
        if shuffled:
            data.reverse()
        tokens = sum(len(text.split()) for text in body["input"])
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return Said({"object": "list", "model": model, "data": data, "usage": usage})

    return reply


def refusing_formats(*taken: str, then: Said) -> Callable[[dict[str, Any]], Said]:
    """A chat server that answers 400 to every response_format whose type is not among `taken`."""

    def reply(body: dict[str, Any]) -> Said:
        asked = body.get("response_format", {"type": "none"})["type"]
        if asked in (*taken, "none"):
            return then
        return openai_error(400, "'response_format.type' must be another")

    return reply


def complexity(choice: str = "simple", confidence: float = 0.93) -> Said:
    """A reply of Jev."""
    answer = {
        "type": "choice",
        "choice": choice,
        "confidence": confidence,
        "probabilities": {"simple": 0.95, "medium": 0.04, "complex": 0.01},
    }
    usage = {"input_tokens": 310, "output_tokens": 9}
    return Said({"model": "jev-1.13.0", "answers": {"complexity": answer}, "usage": usage})


def error(status: int, kind: str, text: str, *, code: str | None = None, headers: Mapping[str, str] = {}) -> Said:
    """A failure of the Messages API."""
    failure: dict[str, Any] = {"type": kind, "message": text}
    if code:
        failure["details"] = {"error_code": code}
    return Said({"type": "error", "error": failure, "request_id": "req_9"}, status, {"request-id": "req_9", **headers})


def openai_error(status: int, text: str, *, code: str | None = None, headers: Mapping[str, str] = {}) -> Said:
    """A failure of the OpenAI API."""
    failure = {"message": text, "type": "invalid_request_error", "param": None, "code": code}
    return Said({"error": failure}, status, {"x-request-id": "req_9", **headers})


def _base64(values: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()
