"""Export of 100,000 facts: rows for each second of CPU time, and the peak of memory above idle.

    python -m benchmarks.export [--facts 100000] [--db URL] [--formats json,turtle]

Each format is exported in a process of its own, with the texts. Idle is that process with the memory open, after a
first export of nothing; CPU is its process time, all threads. Rows are those of the json document, for every format.
Then json is imported into an empty dataset of another database. Exit code 1 when json is under 50,000 rows a second or
over 200 MB.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import sys
import tempfile
import time
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

from core.config import Config
from core.core import Core
from core.export.export import ExportRequest, export
from core.export.formats import FORMATS
from core.imports.imports import ImportRequest, import_document
from core.text import name_key
from gligabao_mcp.wiring import database_url, open_core
from storage import tables as t
from storage.database import Database
from storage.migrations import migrate

USER = "bench"
FACTS_PER_ENTITY, FACTS_PER_ARTIFACT = 3, 4
START = datetime(2026, 1, 1, tzinfo=UTC)
AT_ONCE = 5_000
ROWS_PER_SECOND, MEGABYTES = 50_000, 200


def fill(database: Database, facts: int) -> int:
    """A dataset of so many facts, with their entities, artifacts and links; how many rows a document of it has."""
    tables = [
        (t.entities, facts // FACTS_PER_ENTITY, _entity),
        (t.artifacts, facts // FACTS_PER_ARTIFACT, _artifact),
        (t.edges, facts, _edge),
        (t.edge_artifacts, facts, _link),
        (t.commits, facts // FACTS_PER_ARTIFACT, _commit),
    ]
    with database.engine.begin() as connection:
        for number, name in enumerate(("empty", "main"), 1):
            row = {
                "id": number,
                "user_id": USER,
                "name": name,
                "head_seq": facts,
                "head_at": START,
                "created_at": START,
            }
            connection.execute(sa.insert(t.datasets).values(row))
        for table, count, make in tables:
            for first in range(1, count + 1, AT_ONCE):
                numbers = range(first, min(first + AT_ONCE, count + 1))
                connection.execute(sa.insert(table), [make(n, facts) | {"dataset_id": 2} for n in numbers])
    return sum(count for _, count, _ in tables)


def _moment(number: int) -> datetime:
    return START + timedelta(seconds=number, microseconds=number % 1_000_000)


def _entity(number: int, _facts: int) -> dict[str, Any]:
    name = f"Person {number} of Example Town"
    description = f"A person who was told of in note {number} and in others."
    words = {"name": name, "name_key": name_key(name), "description": description, "desc_key": description.lower()}
    times = {"created_at": _moment(number), "updated_at": _moment(number)}
    return {"id": number, "type": "person", "model_id": "bench", "created_seq": 1, "text_seq": 1, **words, **times}


def _artifact(number: int, _facts: int) -> dict[str, Any]:
    text = f"Note {number}. " + "What is told here is two lines long, as most notes are. " * 3
    times = {"valid_at": _moment(number), "created_at": _moment(number)}
    return {"id": number, "kind": "knowledge", "text": text, "text_key": text.lower(), "seq": number, **times}


def _edge(number: int, facts: int) -> dict[str, Any]:
    entities = facts // FACTS_PER_ENTITY
    source, target = number % entities + 1, (number * 7 + number // entities) % entities + 1
    ended = _moment(number + 1000) if number % 5 == 0 else None
    return {
        "id": number,
        "source_id": source,
        "target_id": target,
        "relation": f"relation_{number % 40}",
        "description": f"Person {source} is related to person {target}, as note {number} says.",
        "artifact_id": (number - 1) // FACTS_PER_ARTIFACT % (facts // FACTS_PER_ARTIFACT) + 1,
        "model_id": "bench",
        "valid_at": _moment(number),
        "invalid_at": ended,
        "invalid_at_source": "stated" if ended else None,
        "created_at": _moment(number),
        "valid_at_source": "stated",
        "valid_precision": "day",
        "created_seq": 1,
    }


def _link(number: int, facts: int) -> dict[str, Any]:
    return {"edge_id": number, "artifact_id": _edge(number, facts)["artifact_id"], "seq": 1}


def _commit(number: int, _facts: int) -> dict[str, Any]:
    counts = {"entities": 2, "edges": 4, "invalidated": 0}
    return {"seq": number, "artifact_id": number, "counts": counts, "created_at": _moment(number)}


# In a process of its own ---------------------------------------------------------------------------------------------


async def _write(core: Core, format: str, dataset: str, target: Path | None = None) -> int:
    asked = ExportRequest.model_validate({"user_id": USER, "dataset": dataset, "format": format, "include": "text"})
    size = 0
    with open(target or "/dev/null", "wb") as file:
        async with aclosing(await export(core, asked)) as stream:
            async for piece in stream:
                size += file.write(piece)
    return size


class Peak:
    """The highest memory of this process, asked for every 50 ms."""

    def __init__(self) -> None:
        self.process = psutil.Process()
        self.idle = self.highest = self.process.memory_info().rss

    async def watch(self) -> None:
        while True:
            self.highest = max(self.highest, self.process.memory_info().rss)
            await asyncio.sleep(0.05)

    @property
    def above_idle(self) -> float:
        return (self.highest - self.idle) / 1e6


async def _measure(config: Config, format: str, target: Path | None) -> tuple[float, float, int]:
    async with open_core(config) as core:
        await _write(core, format, "empty")
        peak = Peak()
        watching = asyncio.create_task(peak.watch())
        began = time.process_time()
        size = await _write(core, format, "main", target)
        cpu = time.process_time() - began
        watching.cancel()
    return cpu, peak.above_idle, size


async def _take_in(config: Config, source: Path) -> tuple[float, float, int]:
    async with open_core(config) as core:
        await core.graph.dataset_names(USER)
        peak = Peak()
        watching = asyncio.create_task(peak.watch())
        began = time.process_time()
        with source.open("rb") as file:
            taken = await import_document(core, ImportRequest(user_id=USER), file)
        cpu = time.process_time() - began
        watching.cancel()
    return cpu, peak.above_idle, sum(taken.added.values())


def measured(config: str, format: str, target: str, results: Any) -> None:
    """What a child process found out."""
    settings = Config.model_validate_json(config)
    if format == "import":
        results.put(asyncio.run(_take_in(settings, Path(target))))
    else:
        results.put(asyncio.run(_measure(settings, format, Path(target) if target else None)))


def in_a_child(config: Config, format: str, target: Path | None = None) -> tuple[float, float, int]:
    spawn = multiprocessing.get_context("spawn")
    results = spawn.Queue()
    plain = json.dumps({"db": config.db, "home": str(config.home), "llm": "none", "log_level": "error"})
    child = spawn.Process(target=measured, args=(plain, format, str(target or ""), results))
    child.start()
    found = results.get(timeout=1800)
    child.join()
    return found


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--facts", type=int, default=100_000)
    parser.add_argument("--db", help="An empty database instead of a SQLite file.")
    parser.add_argument("--formats", default=",".join(FORMATS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        config = Config(home=Path(folder) / "from", db=options.db)
        database = Database(database_url(config))
        migrate(database)
        rows = fill(database, options.facts)
        database.close()
        print(f"{rows} rows, {options.facts} of them facts")
        document = Path(folder) / "graph.json"
        passed = True
        for format in options.formats.split(","):
            cpu, memory, size = in_a_child(config, format, document if format == "json" else None)
            print(
                f"{format:9} {rows / cpu:9.0f} rows a second of CPU, {memory:4.0f} MB above idle, {size / 1e6:.0f} MB"
            )
            passed &= format != "json" or (rows / cpu >= ROWS_PER_SECOND and memory <= MEGABYTES)
        if document.exists():
            cpu, memory, added = in_a_child(Config(home=Path(folder) / "to"), "import", document)
            print(f"import    {added / cpu:9.0f} rows a second of CPU, {memory:4.0f} MB above idle")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
