"""Claude Code and Codex, the real binaries, on this memory: no account, no key, nothing leaves the machine.

    python -m benchmarks.real_clients --claude PATH --codex PATH

Each client gets a home of its own for the time of the run, the entry that `gligabao install` writes, and a model that
is a small server on 127.0.0.1: it asks for `remember`, then for `query`, whatever is said. Printed is what each client
did and which session its calls belong to; exit code 1 when a fact that was told is not found. What was seen with which
release stands in docs/clients.md: a check by hand, once per release, for these programs are not free software.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

GLIGABAO = [sys.executable, "-m", "gligabao_mcp"]
EDGE = {"source": "Alice", "target": "Paris", "relation": "lives in"}
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("remember", {"text": "Alice lives in Paris.", "edges": [EDGE]}),
    ("query", {"query": "Where does Alice live?", "answer": False}),
)
SECONDS = 120


# The model ----------------------------------------------------------------------------------------------------------


class Model(BaseHTTPRequestHandler):
    """The Messages API of Anthropic and the Responses API of OpenAI, as far as it takes to ask for tool calls."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        speaks = _messages if "/messages" in self.path else _responses
        stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in speaks(asked)).encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(stream)))
        self.end_headers()
        self.wfile.write(stream)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing: the clients say what they do."""


def _messages(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    said: list[Any] = [message["content"] for message in asked["messages"]]
    parts: list[dict[str, Any]] = [part for content in said if not isinstance(content, str) for part in content]
    done = sum(part["type"] == "tool_result" for part in parts)
    offered = {tool.get("name") for tool in asked.get("tools", ())}
    name = f"mcp__gligabao__{CALLS[done][0]}" if done < len(CALLS) else ""
    block: dict[str, Any]
    if name in offered:
        reason = "tool_use"
        block = {"type": "tool_use", "id": f"toolu_{done}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(CALLS[done][1])}
    else:
        reason = "end_turn"
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": "Done."}
    usage = {"input_tokens": 1, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked.get("model"),
        "content": [],
    }
    return [
        {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ]


def _responses(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    done = sum(part.get("type") == "function_call_output" for part in asked["input"])
    item: dict[str, Any]
    if done < len(CALLS):
        name, arguments = CALLS[done]
        item = {"type": "function_call", "id": f"fc_{done}", "call_id": f"call_{done}", "name": name}
        item |= {"namespace": "mcp__gligabao", "arguments": json.dumps(arguments)}
    else:
        text = {"type": "output_text", "text": "Done."}
        item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [text]}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "output": [item], "usage": usage}},
    ]


@contextmanager
def model() -> Generator[str]:
    """The address of the model."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


# The clients --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Client:
    """A client in a home of its own."""

    name: str
    binary: str
    home: Path
    url: str
    """Of the model."""

    @property
    def environ(self) -> dict[str, str]:
        """Nothing of the user's own: no accounts, no other servers."""
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "SYSTEMROOT", "TMPDIR")}
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "IS_SANDBOX": "1"}
        model = {"ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "sk-scripted", "SCRIPTED_KEY": "sk-scripted"}
        return {**kept, **quiet, **model, "HOME": str(self.home), "CODEX_HOME": str(self.home / ".codex")}

    def run(self, *command: str) -> str:
        """What a command printed, and what went wrong; it runs in the client's home."""
        done = subprocess.run(
            command, env=self.environ, cwd=self.home, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS
        )
        wrong = done.stderr if done.returncode else b""
        return (done.stdout + wrong).decode("utf-8", "replace").strip()

    def install(self, *flags: str) -> None:
        """Writes the entry as a user would."""
        if self.name == "codex":
            file = self.home / ".codex" / "config.toml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_CODEX.format(url=self.url), "utf-8")
        print(self.run(*GLIGABAO, "install", self.name, *flags))

    def talk(self) -> None:
        """One turn, in which the model calls both tools."""
        if self.name == "codex":
            self.run(self.binary, "exec", "--skip-git-repo-check", "Remember this.")
        else:
            allowed = [f"mcp__gligabao__{name}" for name, _ in CALLS]
            self.run(self.binary, "-p", "Remember this.", "--allowedTools", *allowed)


_CODEX = """\
model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
"""


def check(client: Client, memory: Path, *, over_http: bool) -> bool:
    """Whether the client stored a fact and read it; prints what was seen."""
    environ = {**os.environ, "GLIGABAO_HOME": str(memory), "GLIGABAO_LLM": "none"}
    with served(environ) if over_http else no_server() as address:
        here = ["--command", "python", "--home", str(memory), "--llm", "none"]
        client.install(*(["--http", address] if address else here))
        print(client.run(client.binary, "mcp", "list"))
        client.talk()
    printed = subprocess.run([*GLIGABAO, "events"], env=environ, capture_output=True, check=True).stdout
    events = [json.loads(line) for line in printed.splitlines()]
    for event in events:
        print(f"{event['type']}: {event['status']}, facts {event['counts']['edges']}, session {event['session_id']}")
    print()
    return [(event["type"], event["counts"]["edges"]) for event in events] == [(name, 1) for name, _ in CALLS]


@contextmanager
def served(environ: Mapping[str, str]) -> Generator[str]:
    """The address of `gligabao serve`."""
    command = [*GLIGABAO, "serve", "--port", "0"]
    with subprocess.Popen(command, env=environ, stderr=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stderr
        line = next(line for line in process.stderr if "listens on " in line)
        try:
            yield line.split("listens on ")[1].split()[0]
        finally:
            process.terminate()


@contextmanager
def no_server() -> Generator[str]:
    """The client starts one."""
    yield ""


def main() -> int:
    options = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    options.add_argument("--claude", help="the binary of Claude Code")
    options.add_argument("--codex", help="the binary of Codex")
    given = options.parse_args()
    binaries = {"claude-code": given.claude, "codex": given.codex}
    sound = True
    with model() as url:
        for name, binary in ((name, binary) for name, binary in binaries.items() if binary):
            for over_http in (False, True):
                with tempfile.TemporaryDirectory(prefix="gligabao-client-", ignore_cleanup_errors=True) as folder:
                    client = Client(name, str(Path(binary).absolute()), Path(folder), url)
                    print(f"== {client.run(client.binary, '--version')}, {'HTTP' if over_http else 'stdio'}")
                    sound &= check(client, Path(folder) / "memory", over_http=over_http)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
