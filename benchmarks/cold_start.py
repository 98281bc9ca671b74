"""Cold start over stdio: from starting the process to the answer of tools/list, beside a bare server of the SDK.

    python benchmarks/cold_start.py [--runs 9] [--most 1.3]

Both are measured in turns in one run, so the ratio holds on a busy machine too. Exit code 1 when it is over `--most`.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence

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
HANDSHAKE = [
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "cold_start", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
]
SERVERS = {
    "bare": [sys.executable, "-c", BARE],
    "gligabao": [sys.executable, "-m", "gligabao_mcp", "stdio"],
}


def seconds_to_tools(command: Sequence[str], home: str) -> float:
    """One start: until the line that answers tools/list."""
    environ = {**os.environ, "GLIGABAO_HOME": home}
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ)
    assert process.stdin and process.stdout
    with process:
        for message in HANDSHAKE:
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        for line in process.stdout:
            if json.loads(line).get("id") == 2:
                break
        taken = time.perf_counter() - begun
        process.stdin.close()
    return taken


def main() -> int:
    """Prints the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--most", type=float, default=1.3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        for command in SERVERS.values():
            seconds_to_tools(command, home)  # the first start compiles
        taken: dict[str, list[float]] = {name: [] for name in SERVERS}
        for _ in range(options.runs):
            for name, command in SERVERS.items():
                taken[name].append(seconds_to_tools(command, home))
    median = {name: statistics.median(times) for name, times in taken.items()}
    ratio = median["gligabao"] / median["bare"]
    for name, seconds in median.items():
        print(f"{name:<9} {seconds:.3f} s  (median of {options.runs}, fastest {min(taken[name]):.3f} s)")
    print(f"ratio     {ratio:.2f}  (at most {options.most})")
    return 0 if ratio <= options.most else 1


if __name__ == "__main__":
    sys.exit(main())
