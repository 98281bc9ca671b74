"""The keyword retrieval of a query, without a model: CPU time of the seeds and of the facts around them.

    python benchmarks/retrieval.py [--entities 10000] [--most 20] [--db URL]

Made-up names of two or three words and descriptions of ten, drawn with Zipf's law; 96 questions of four kinds. CPU is
that of this process, all its threads, which on SQLite is everything; of three rounds the fastest counts for each
question, since neighbours on a busy machine make the caches cold. Exit code 1 when the median is over `--most`.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from core.graph import Dataset
from core.query.retrieve import match_for
from core.text import name_key
from storage import tables as t
from storage.database import Database
from storage.graph import SqlGraph
from storage.migrations import migrate

WORDS = 4_000
EACH_KIND = 24
ROUNDS = 3
FACTS_PER_ENTITY = 3
START = datetime(2026, 1, 1, tzinfo=UTC)


class Vocabulary:
    """Words of two to nine letters; a word's rank decides how often it is drawn."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        syllables = [a + b for a in "bcdfghklmnprstvz" for b in "aeiou"]
        words: dict[str, None] = {}
        while len(words) < WORDS:
            words["".join(chance.choices(syllables, k=chance.randint(1, 4)))] = None
        self.words = list(words)
        self.weights = [1 / (rank + 2) for rank in range(WORDS)]

    def draw(self, count: int) -> list[str]:
        return self.chance.choices(self.words, self.weights, k=count)


def fill(database: Database, count: int, words: Vocabulary) -> tuple[Dataset, list[str]]:
    """A dataset of `count` entities and three times as many facts, and its names."""
    chance = words.chance
    names = [f"{' '.join(words.draw(chance.randint(2, 3)))} {number}" for number in range(count)]
    with database.engine.begin() as connection:
        row = {"id": 1, "user_id": "bench", "name": "main", "head_seq": 1, "created_at": START}
        connection.execute(sa.insert(t.datasets).values(row))
        connection.execute(sa.insert(t.entities), [_entity(i + 1, n, words) for i, n in enumerate(names)])
        ends = ((chance.randint(1, count), chance.randint(1, count)) for _ in range(count * FACTS_PER_ENTITY))
        connection.execute(sa.insert(t.edges), [_edge(i + 1, *pair) for i, pair in enumerate(ends)])
    return Dataset(1, "bench", "main", 1), names


def _entity(number: int, name: str, words: Vocabulary) -> dict[str, object]:
    moment = START + timedelta(seconds=words.chance.randint(0, 1_000_000))
    description = " ".join(words.draw(10))
    return {
        "id": number,
        "dataset_id": 1,
        "name": name,
        "name_key": name_key(name),
        "type": "other",
        "description": description,
        "desc_key": description,
        "created_at": moment,
        "updated_at": moment,
        "created_seq": 1,
        "text_seq": 1,
    }


def _edge(number: int, source: int, target: int) -> dict[str, object]:
    moment = START + timedelta(seconds=number)
    return {
        "id": number,
        "dataset_id": 1,
        "source_id": source,
        "target_id": target,
        "relation": f"relation_{number}",
        "description": "a fact of a few words about both of them",
        "valid_at": moment,
        "created_at": moment,
        "valid_at_source": "stated",
        "valid_precision": "instant",
        "created_seq": 1,
    }


def questions(words: Vocabulary, names: list[str]) -> dict[str, list[str]]:
    """Questions by kind: a name, common words, both, and words that nothing holds."""
    chance = words.chance
    common = words.words[:30]
    kinds: dict[str, Callable[[], str]] = {
        "a name": lambda: f"What do you know about {chance.choice(names)}?",
        "common words": lambda: f"Which {' and '.join(chance.sample(common, 3))} are there?",
        "mixed": lambda: f"Did {chance.choice(names)} see the {' '.join(words.draw(4))} of {chance.choice(names)}?",
        "none": lambda: "What is the wifi password?",
    }
    return {kind: [ask() for _ in range(EACH_KIND)] for kind, ask in kinds.items()}


async def measure(database: Database, dataset: Dataset, asked: dict[str, list[str]]) -> dict[str, list[float]]:
    """Milliseconds of CPU for each question, by kind."""
    graph = SqlGraph(database, "bench")

    async def retrieved(question: str) -> float:
        begun = time.process_time()
        match = match_for(question, None, None)
        await graph.neighbourhood(dataset, await graph.match(dataset, match), match)
        return (time.process_time() - begun) * 1000

    every = [(kind, question) for kind, several in asked.items() for question in several]
    rounds = [[await retrieved(question) for _, question in every] for _ in range(ROUNDS)]
    taken: dict[str, list[float]] = {kind: [] for kind in asked}
    for (kind, _), *several in zip(every, *rounds, strict=True):
        taken[kind].append(min(several))
    return taken


def main() -> int:
    """Prints the median and the 95th percentile of each kind and of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--entities", type=int, default=10_000)
    parser.add_argument("--most", type=float, default=20.0)
    parser.add_argument("--db", help="SQLAlchemy URL of an empty database. Default: SQLite in a temporary folder.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = Database(options.db or f"sqlite:///{folder}/bench.db")
        migrate(database)
        words = Vocabulary(random.Random(7))
        dataset, names = fill(database, options.entities, words)
        taken = asyncio.run(measure(database, dataset, questions(words, names)))
        database.close()
    everything = [ms for several in taken.values() for ms in several]
    for kind, several in (taken | {"all": everything}).items():
        p95 = statistics.quantiles(several, n=20)[-1]
        print(f"{kind:<13} {statistics.median(several):6.1f} ms of CPU  (95 %: {p95:.1f}, {len(several)} questions)")
    median = statistics.median(everything)
    print(f"median {median:.1f} ms at {options.entities} entities (at most {options.most:g})")
    return 0 if median <= options.most else 1


if __name__ == "__main__":
    sys.exit(main())
