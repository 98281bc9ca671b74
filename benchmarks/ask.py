"""What a question costs besides its model calls and its queries: CPU of the server with a warm view.

    python -m benchmarks.ask [--facts 100000] [--most 50]

Each question names a record, is routed by a model, and takes a round of two queries, a look-up of a name and an answer
that cites; the models are scripted. CPU is that of this process, all its threads: the queries run in another. Of three
rounds the fastest counts for each question, since neighbours on a busy machine make the caches cold. Exit code 1 when
the median is over `--most`.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from benchmarks.export import USER, fill
from core.ask.ask import AskRequest, ask
from core.ask.routing import ModelRouter
from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.rdf.vocabulary import base_of
from gligabao_mcp.providers.scripted import ScriptedModel
from gligabao_mcp.wiring import DATABASE, Providers, open_core
from storage.database import Database, file_url
from storage.migrations import migrate

QUESTIONS, ROUNDS = 20, 3
BASE = base_of("main")
QUERY = "SELECT ?p ?o ?label WHERE {{ <{0}entity/{1}> ?p ?o . OPTIONAL {{ ?o rdfs:label ?label }} }}"
COUNT = "SELECT ?o (COUNT(?s) AS ?n) WHERE {{ ?s rel:relation_{0} ?o }} GROUP BY ?o ORDER BY DESC(?n) ?o LIMIT 30"


async def cpu_of(core: Core, model: ScriptedModel, number: int) -> float:
    """The CPU milliseconds of one question."""
    cited = f"{BASE}entity/{number}"
    model.replies({"kind": "lookup", "probabilities": {"lookup": 1}})
    model.turns(
        [
            ("sparql", {"query": QUERY.format(BASE, number)}),
            ("sparql", {"query": COUNT.format(number % 50)}),
            ("find_entities", {"text": f"Person {number} of Example Town"}),
        ],
        [("answer", {"text": "It is so.", "citations": [cited], "step": 1, "rationale": "Its rows."})],
    )
    request = AskRequest(
        user_id=USER, dataset="main", question=f"What is said of Person {number} of Example Town and others?"
    )
    began = time.process_time()
    response = await ask(core, request)
    assert response.answer and len(response.steps or ()) == 3
    return 1000 * (time.process_time() - began)


async def measured(home: Path) -> list[float]:
    """The CPU milliseconds of each question, the view, the description and the names being there already."""
    model = ScriptedModel()
    async with open_core(Config(home=home), Providers(NoEngine(), asker=model, router=ModelRouter(model))) as core:
        await cpu_of(core, model, 1)
        dataset = await core.graph.dataset(USER, "main")
        assert dataset
        while await core.names.get(core, dataset) is None:
            await asyncio.sleep(1)
        rounds = [[await cpu_of(core, model, 7 + number) for number in range(QUESTIONS)] for _ in range(ROUNDS)]
    return [min(times) for times in zip(*rounds, strict=True)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--most", type=float, default=50.0)
    stated = parser.parse_args()
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        database = Database(file_url(Path(folder) / DATABASE), durable=False)
        migrate(database)
        fill(database, stated.facts)
        database.close()
        times = asyncio.run(measured(Path(folder)))
    print(f"{stated.facts:,} facts: {median(times):.1f} ms of CPU, 95th percentile {quantiles(times, n=20)[-1]:.1f} ms")
    return int(median(times) > stated.most)


if __name__ == "__main__":
    sys.exit(main())
