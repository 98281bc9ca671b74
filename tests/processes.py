"""Real processes of the product for tests: `gligabao serve` and `gligabao stdio`, on a memory in a folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp import StdioServerParameters

_ADDRESS = re.compile(r"http://[0-9.:]+")


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment of a process whose memory lies in `home`; no provider but what is named."""
    keep = {
        name: value for name, value in os.environ.items() if not re.match(r"GLIGABAO_|ANTHROPIC_|OPENAI_|JEV_", name)
    }
    return {**keep, "GLIGABAO_HOME": str(home), **more}


def stdio(home: Path, **more: str) -> StdioServerParameters:
    """How an MCP client starts the server."""
    return StdioServerParameters(
        command=sys.executable, args=["-m", "gligabao_mcp", "stdio"], env=environment(home, **more)
    )


@dataclass(frozen=True)
class Served:
    """A running `gligabao serve`."""

    process: subprocess.Popen[str]
    url: str

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The JSON answer of a REST call."""
        return dict(httpx2.post(f"{self.url}{path}", json=body, timeout=60).json())


@contextmanager
def serve(home: Path, *flags: str, **more: str) -> Generator[Served]:
    """`gligabao serve` on a free port, ended at the end of the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gligabao_mcp", "serve", "--port", "0", *flags],
        env=environment(home, **more),
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    assert process.stderr is not None
    try:
        yield Served(process, _address(process))
    finally:
        process.terminate()
        process.wait(10)
        process.stderr.close()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stderr is not None
    said = ""
    for line in process.stderr:
        said += line
        if found := _ADDRESS.search(line):
            return found.group()
    raise AssertionError(f"the server did not start:\n{said}")
