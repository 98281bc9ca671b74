"""The worked cases of temporal facts, from end to end: stored rows, one remember, the rows afterwards."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from core.core import Core
from core.engine import PromptedEngine
from core.text import fold, name_key
from gligabao_mcp.providers.scripted import ScriptedModel
from storage import tables as t
from tests.conftest import Tables
from tests.facts import edge, graph, tell, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

Case = dict[str, Any]

CASES: list[Case] = json.loads((Path(__file__).parents[1] / "temporal_cases.json").read_text("utf-8"))["cases"]
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@requirement(
    "temporal.event-time",
    "temporal.system-time",
    "temporal.closed-not-deleted",
    "remember.exact-repeats-by-code",
    "remember.model-flags-the-rest",
    "remember.invalidated-edges",
    "remember.repeated-fact-merged",
)
async def test_a_told_fact_settles_with_the_stored_ones(plain: Core, tables: Tables) -> None:
    for number, case in enumerate(CASES, 1):
        await settles(moved(case, number * 1000), number * 1000, plain, tables)


async def settles(case: Case, dataset_id: int, plain: Core, tables: Tables) -> None:
    with tables.engine.begin() as connection:
        insert(case, dataset_id, connection)
    if case["llm"]:
        said = verdict(0, case["llm"]["duplicate_of"], case["llm"]["contradicts"])
        model = ScriptedModel(reading(case), always=verdicts(said))
    else:
        model = ScriptedModel(reading(case), always=AssertionError(f"{case['name']}: no model must be asked"))
    core = replace(plain, engine=PromptedEngine(model), clock=lambda: moment(case["now"]))
    told = await tell(core, dataset=case["name"], reference_time=case["reference_time"])

    rows = {row["id"]: row for row in edges_of(dataset_id, tables)}
    for row in case["expect"]["stored"]:
        for field in row.keys() - {"id"}:
            assert rows[row["id"]][field] == moment(row[field]), (case["name"], row["id"], field)
    (shown,) = told.edges
    expected = case["expect"]["new"]
    if expected["inserted"]:
        assert len(rows) == len(case["stored"]) + 1, case["name"]
        assert shown.id not in [row["id"] for row in case["stored"]], case["name"]
        assert shown.invalid_at == rows[shown.id]["invalid_at"] == moment(expected["invalid_at"]), case["name"]
        assert shown.expired_at == rows[shown.id]["expired_at"] == moment(expected["expired_at"]), case["name"]
    else:
        assert len(rows) == len(case["stored"]), case["name"]
        assert shown.id == expected["merged_into"], case["name"]
    assert told.invalidated_edges == case["expect"]["invalidated_edges"], case["name"]


def moved(case: Case, by: int) -> Case:
    """The case with every row id moved, so that all cases fit into one database."""

    def move(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: move(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
        if isinstance(value, list):
            return [move(inner) for inner in value]  # pyright: ignore[reportUnknownVariableType]
        return value + by if type(value) is int else value

    return move(case)


def reading(case: Case) -> dict[str, object]:
    """What the model reads: it writes a start only where the text states one."""
    new = case["new"]
    unsaid = new["valid_at_source"] == "reference" and new["valid_at"] == case["reference_time"]
    dates = {"valid_at": None if unsaid else new["valid_at"], "invalid_at": new["invalid_at"]}
    return graph(edges=[edge(new["source"], new["relation"], new["target"], **dates)])


def insert(case: Case, dataset_id: int, connection: sa.Connection) -> None:
    """The stored rows of the case, in a dataset of its own."""
    mine = {"id": dataset_id, "user_id": "u1", "name": case["name"], "head_seq": 1, "created_at": LONG_AGO}
    connection.execute(sa.insert(t.datasets).values(mine))
    names = list(dict.fromkeys(row[end] for row in case["stored"] for end in ("source", "target")))
    entity_ids = {name: dataset_id + number for number, name in enumerate(names)}
    described = {"dataset_id": dataset_id, "type": "other", "description": "", "desc_key": fold("")}
    described |= {"created_at": LONG_AGO, "updated_at": LONG_AGO, "created_seq": 1, "text_seq": 1}
    for name, entity_id in entity_ids.items():
        own = {"id": entity_id, "name": name, "name_key": name_key(name)}
        connection.execute(sa.insert(t.entities).values(described | own))
    common = {"dataset_id": dataset_id, "description": "", "created_at": LONG_AGO, "created_seq": 1}
    for row in case["stored"]:
        stated = {field: row.get(field) for field in ("id", "relation", "closed_by")}
        stated |= {field: row[field] for field in ("valid_at_source", "invalid_at_source")}
        stated |= {field: moment(row[field]) for field in ("valid_at", "invalid_at", "expired_at")}
        ends = {"source_id": entity_ids[row["source"]], "target_id": entity_ids[row["target"]]}
        connection.execute(sa.insert(t.edges).values(common | stated | ends | {"valid_precision": "instant"}))
    if connection.dialect.name == "postgresql":  # ids that are given leave the sequences behind
        for table in ("gb_datasets", "gb_entities", "gb_edges"):
            beyond = f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {dataset_id + 500})"
            connection.execute(sa.text(beyond))


def edges_of(dataset_id: int, tables: Tables) -> list[dict[str, Any]]:
    with tables.engine.connect() as connection:
        rows = connection.execute(sa.select(t.edges).where(t.edges.c.dataset_id == dataset_id)).mappings()
        return [dict(row) for row in rows]


def moment(text: Any) -> Any:
    return datetime.fromisoformat(text) if text else None
