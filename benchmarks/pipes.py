"""An MCP server over stdio with its pipes in our hands, so that no client library takes part in what is measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

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
    return {**inherited, "GLIGABAO_HOME": home, **more}


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
