"""Memory of a stdio server, idle and after 100 calls, beside processes that do nothing.

    python -m benchmarks.memory [--runs 3]

Idle: gligabao after tools/list and before the first call of a tool, against a bare server of the SDK at the same point;
at most 1.3 times. Busy: after 50 calls of remember and 50 of query, with the Messages API of Anthropic and the
embeddings of OpenAI scripted on 127.0.0.1, against a process that merely imports the libraries that the server has
imported by then (all of its sys.modules but our own); at most 1.3 times.

Two figures of each. Own: resident memory that is no page of a file, which is what a process takes from the others; the
aims are about this one. Whole: the resident set, as a list of processes shows it. It holds, besides, the pages of
libraries' files that were touched. Processes share those and the system takes them back at will, but to run a library
touches more of them than to import it: of the vector index alone 57 MB.

Medians, in turns. Exit code 1 when one is over.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.pipes import BARE_SERVER, GLIGABAO, Pipes, environment, list_tools, running
from benchmarks.scripted_api import scripted_api

CALLS = 50
MOST = 1.3
# Writes down at its end what it had imported.
TELLING = """
import atexit, json, pathlib, sys
told = pathlib.Path(sys.argv.pop())
atexit.register(lambda: told.write_text(json.dumps(list(sys.modules))))
from gligabao_mcp.cli import main
main()
"""
# Imports what stands in the file, says so, and waits for the end of stdin.
IMPORTING = """
import importlib, json, sys
for name in json.load(open(sys.argv[1])):
    try:
        importlib.import_module(name)
    except Exception:
        pass
print(flush=True)
sys.stdin.read()
"""
OURS = {"gligabao_mcp", "core", "storage", "__main__", "__mp_main__"}
MIB = 1024 * 1024


class Memory(NamedTuple):
    """In bytes."""

    own: int
    whole: int


def work(server: Pipes) -> None:
    """The calls, each text with facts of its own."""
    list_tools(server)
    for n in range(CALLS):
        text = f"person{n % 10} likes thing{n}. person{n % 10} knows person{(n + 1) % 10}."
        assert server.call("remember", text=text)["edges"]
        found = server.call("query", query=f"What does person{n % 10} like?", retrieval="hybrid")
        assert found["evidence"]["edges"]


def memory_of(pid: int) -> Memory:
    process = psutil.Process(pid)
    info = process.memory_info()
    shared: int | None = getattr(info, "shared", None)  # Linux says how much of the resident set is pages of files
    return Memory(process.memory_full_info().uss if shared is None else info.rss - shared, info.rss)


def after(conversation: Callable[[Pipes], None], command: Sequence[str], environ: Mapping[str, str]) -> Memory:
    """What the server takes when the conversation is over."""
    with running(command, environ) as server:
        conversation(server)
        return memory_of(server.process.pid)


def of_libraries(modules: Path) -> Memory:
    """What a process takes that imports the libraries among the modules that the file names."""
    names: list[str] = json.loads(modules.read_text(encoding="utf-8"))
    modules.write_text(json.dumps([name for name in names if name.split(".")[0] not in OURS]), encoding="utf-8")
    command = (sys.executable, "-c", IMPORTING, str(modules))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        process.stdout.readline()
        taken = memory_of(process.pid)
        process.stdin.close()
    return taken


def measure() -> dict[str, Memory]:
    """One of each, on a fresh memory."""
    with tempfile.TemporaryDirectory() as home, scripted_api() as keys:
        told = Path(home, "modules.json")
        telling = (sys.executable, "-c", TELLING, "stdio", str(told))
        return {
            "bare": after(list_tools, BARE_SERVER, environment(home)),
            "idle": after(list_tools, GLIGABAO, environment(home)),
            "busy": after(work, telling, environment(home, **keys)),
            "imports": of_libraries(told),
        }


def main() -> int:
    """Prints the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    runs = [measure() for _ in range(options.runs)]
    own = {name: statistics.median(run[name].own for run in runs) for name in runs[0]}
    whole = {name: statistics.median(run[name].whole for run in runs) for name in runs[0]}
    for name in own:
        print(
            f"{name:<8} own {own[name] / MIB:4.0f} MB, whole {whole[name] / MIB:4.0f} MB  (medians of {options.runs})"
        )
    over = False
    for name, beside in (("idle", "bare"), ("busy", "imports")):
        ratio = own[name] / own[beside]
        over = over or ratio > MOST
        print(f"{name} / {beside:<8} own {ratio:.2f} (at most {MOST}), whole {whole[name] / whole[beside]:.2f}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
