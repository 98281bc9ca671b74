"""The product as hosts run it: processes with pipes and ports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from mcp import StdioServerParameters

COMMAND = [sys.executable, "-m", "gligabao_mcp"]
ROOT = Path(__file__).parents[1]
PATIENCE = 30.0
_OURS = ("GLIGABAO_", "ANTHROPIC_", "OPENAI_", "JEV_", "CLAUDE")


def environment(home: Path, **more: str) -> dict[str, str]:
    """What a process is given: nothing of the settings of the machine that runs the tests."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**inherited, "PYTHONPATH": str(ROOT), "GLIGABAO_HOME": str(home), "GLIGABAO_LLM": "none", **more}


def asking(model_url: str, **more: str) -> dict[str, str]:
    """What a process is told to ask the model at this address, beside `more`."""
    return {"GLIGABAO_LLM": "openai", "GLIGABAO_LLM_BASE_URL": model_url, "GLIGABAO_LLM_MODEL": "qwen3", **more}


class Stdio:
    """`gligabao stdio` with its pipes in our hands, in the handshake era unless told otherwise. `parent`: a command
    that runs the one after it, on its own pipes."""

    def __init__(self, home: Path, *flags: str, parent: Sequence[str] = (), **more: str) -> None:
        self.process = subprocess.Popen(
            [*parent, *COMMAND, "stdio", *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(home, **more),
        )
        self.lines: list[bytes] = []
        self._messages: Queue[dict[str, Any]] = Queue()
        self.errors: list[bytes] = []
        self._threads = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            self._messages.put(json.loads(line))

    def _read_errors(self) -> None:
        assert self.process.stderr
        self.errors.extend(self.process.stderr)

    def write(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: Mapping[str, Any] | None = None, request_id: int | None = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": dict(params or {})}
        self.write(json.dumps(message | ({} if request_id is None else {"id": request_id})).encode())

    def receive(self) -> dict[str, Any]:
        """The next message."""
        try:
            return self._messages.get(timeout=PATIENCE)
        except Empty:
            raise AssertionError(f"no answer; stderr: {b''.join(self.errors).decode()}") from None

    def ask(self, method: str, params: Mapping[str, Any] | None = None, request_id: int = 1) -> dict[str, Any]:
        self.send(method, params, request_id)
        return self.receive()

    def initialize(self) -> None:
        client = {"name": "test", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}, 0)
        self.send("notifications/initialized")

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured content of a call."""
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        return answer["result"]["structuredContent"]

    def close(self) -> int:
        """Ends stdin; the exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        return self.ended()

    def ended(self) -> int:
        code = self.process.wait(PATIENCE)
        for thread in self._threads:
            thread.join()
        assert self.process.stdin and self.process.stdout and self.process.stderr
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()
        return code


def launch(home: Path, *flags: str, **more: str) -> StdioServerParameters:
    """How an MCP client starts `gligabao stdio`."""
    return StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "stdio", *flags], env=environment(home, **more)
    )


@contextmanager
def stdio(home: Path, *flags: str, parent: Sequence[str] = (), **more: str) -> Generator[Stdio]:
    """A process that is gone at the end whatever happened."""
    running = Stdio(home, *flags, parent=parent, **more)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.ended()


class Served(subprocess.Popen[bytes]):
    """`gligabao serve`, and what it says on stderr: all of it once it has ended."""

    said: Sequence[str] = ()


@contextmanager
def served(home: Path, *flags: str, **more: str) -> Generator[tuple[str, Served]]:
    """`gligabao serve` on a free port: its address and process."""
    command = [*COMMAND, "serve", "--port", "0", *flags]
    with Served(command, stderr=subprocess.PIPE, env=environment(home, **more)) as process:
        process.said = said = list[str]()
        lines: Queue[str] = Queue()
        reader = threading.Thread(target=_read_lines, args=(process, lines, said))
        reader.start()
        try:
            yield _address(lines), process
        finally:
            process.terminate()
            process.wait(PATIENCE)
            reader.join()


def _read_lines(process: Served, lines: Queue[str], said: list[str]) -> None:
    assert process.stderr
    for line in process.stderr:
        said.append(line.decode())
        lines.put(line.decode())
    lines.put("")


def _address(lines: Queue[str]) -> str:
    seen = ""
    while line := lines.get(timeout=PATIENCE):
        if "listens on " in line:
            return line.split("listens on ")[1].split()[0]
        seen += line
    raise AssertionError(f"the server did not start: {seen}")
