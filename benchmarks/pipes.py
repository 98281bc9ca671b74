"""An MCP server over stdio with its pipes in our hands, so that no client library takes part in what is measured."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

BARE = """
import anyio, mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def list_tools(context, params):
    return types.ListToolsResult(tools=[types.Tool(name="empty", input_schema={"type": "object"})])

async def main():
    server = Server("bare", on_list_tools=list_tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""
BARE_SERVER = (sys.executable, "-c", BARE)
GLIGABAO = (sys.executable, "-m", "gligabao_mcp", "stdio")
_OURS = ("GLIGABAO_", "ANTHROPIC_", "OPENAI_", "JEV_", "CLAUDE")


def environment(home: str, **more: str) -> dict[str, str]:
    """What a process is given: none of the settings of whoever runs the benchmark."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**inherited, "GLIGABAO_HOME": home, "GLIGABAO_LOG_LEVEL": "error", **more}


Conversation: TypeAlias = "Callable[[Pipes], None]"
Start: TypeAlias = tuple[Conversation, Sequence[str], Mapping[str, str]]
"""What is said to which command in which environment."""


class Pipes:
    """A running server that answers one call at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._sent = 0

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The answer; raises RuntimeError with what the server says, or that it has gone."""
        self._sent += 1
        self._write({"jsonrpc": "2.0", "id": self._sent, "method": method, "params": dict(params or {})})
        assert self.process.stdout
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == self._sent:
                if "error" in message or message["result"].get("isError"):
                    raise RuntimeError(f"{method}: {line.decode()}")
                return message["result"]
        raise RuntimeError(f"{method}: the server has gone")

    def shake_hands(self) -> None:
        """The handshake of 2025-11-25."""
        client = {"name": "benchmark", "version": "1"}
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client})
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What the tool answers."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["structuredContent"]

    def _write(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()


@contextmanager
def running(command: Sequence[str], environ: Mapping[str, str]) -> Generator[Pipes]:
    """A server, started and not yet greeted; its stdin ends with the block."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(environ))
    with process:
        yield Pipes(process)


def list_tools(server: Pipes) -> None:
    """What every host does first."""
    server.shake_hands()
    server.ask("tools/list")


def in_turns(starts: Mapping[str, Start], runs: int) -> dict[str, float]:
    """The median seconds of each start, which are printed too. They take turns, so that ratios hold on a busy machine;
    the first of each, which compiles, does not count."""
    taken: dict[str, list[float]] = {name: [] for name in starts}
    for run in range(runs + 1):
        for name, start in starts.items():
            seconds = _seconds_to(*start)
            if run:
                taken[name].append(seconds)
    median = {name: statistics.median(times) for name, times in taken.items()}
    for name, times in taken.items():
        print(f"{name:<9} {median[name]:.3f} s  (median of {runs}, fastest {min(times):.3f} s)")
    return median


def _seconds_to(conversation: Conversation, command: Sequence[str], environ: Mapping[str, str]) -> float:
    """One start: from that of the process to the last answer of the conversation."""
    begun = time.perf_counter()
    with running(command, environ) as server:
        conversation(server)
        return time.perf_counter() - begun
