"""Cold start over stdio to the first answer, on a store of 10,000 facts, beside a bare server of the SDK.

    python -m benchmarks.first_answer [--runs 9]

Three starts in turns, so the ratios hold on a busy machine too: a bare server up to the answer of tools/list; gligabao
up to the answer of a query that no model takes part in (`answer: false`, `retrieval: keyword`); gligabao up to an
answer that a model writes, with the Messages API of Anthropic scripted on 127.0.0.1. Exit code 1 when one takes more
than it may: 2 times the bare server, 3.5 times with the model.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from benchmarks.pipes import BARE_SERVER, GLIGABAO, Pipes, environment, in_turns, list_tools
from benchmarks.scripted_api import fact, scripted_api
from core.config import Config
from core.engine import NoEngine
from core.remember.remember import remember
from core.remember.request import RememberRequest
from gligabao_mcp.wiring import Providers, open_core

FACTS, PEOPLE = 10_000, 1_000
QUESTION = "What does person123 like?"
MOST = {"keyword": 2.0, "written": 3.5}


def ask_by_keyword(server: Pipes) -> None:
    list_tools(server)
    found = server.call("query", query=QUESTION, answer=False, retrieval="keyword")
    assert found["evidence"]["edges"]


def ask_the_model(server: Pipes) -> None:
    list_tools(server)
    found = server.call("query", query=QUESTION, retrieval="keyword")
    assert found["answer"] == "Yes." and found["evidence"]["edges"]


async def fill(home: str) -> None:
    """The facts, told by a caller in long lists, so that it is soon done."""
    async with open_core(Config(home=Path(home), log_level="error"), Providers(NoEngine())) as core:
        for start in range(0, FACTS, 250):
            edges = [fact(f"person{i % PEOPLE}", "likes", f"thing{i}") for i in range(start, start + 250)]
            request = {"user_id": "local", "text": f"list {start}", "edges": edges}
            await remember(core, RememberRequest.model_validate(request))


def main() -> int:
    """Prints the medians and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=9)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home, scripted_api() as keys:
        asyncio.run(fill(home))
        with_model = environment(home, **{name: keys[name] for name in keys if name.startswith("ANTHROPIC")})
        starts = {
            "bare": (list_tools, BARE_SERVER, environment(home)),
            "keyword": (ask_by_keyword, GLIGABAO, environment(home)),
            "written": (ask_the_model, GLIGABAO, with_model),
        }
        median = in_turns(starts, options.runs)
    over = False
    for name, most in MOST.items():
        ratio = median[name] / median["bare"]
        over = over or ratio > most
        print(f"{name:<9} / bare  {ratio:.2f}  (at most {most})")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
