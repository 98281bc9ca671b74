"""The worked cases of temporal facts, from end to end: stored rows, one remember, the rows afterwards."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from core.core import Core
from core.text import fold, name_key
from gligabao_mcp.providers.scripted import ScriptedModel
from storage import tables as t
from tests.conftest import Tables
from tests.facts import edge, graph, tell, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

CASES: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "temporal_cases.json").read_text("utf-8"))[
    "cases"
]
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
async def test_a_told_fact_settles_with_the_stored_ones(plain: Core, model: ScriptedModel, tables: Tables) -> None:
    for number, case in enumerate(CASES, 1):
        await settles(Case(case, first_id=number * 1000), plain, model, tables)


class Case:
    """A worked case whose row ids are moved, so that all cases fit into one database, each in a dataset of its own."""

    def __init__(self, case: Mapping[str, Any], *, first_id: int) -> None:
        self.case = case
        self.first_id = first_id
        self.name = str(case["name"])
        self.now = moment(case["now"])
        self.stored: list[dict[str, Any]] = case["stored"]
        self.new: dict[str, Any] = case["new"]
        self.expect: dict[str, Any] = case["expect"]

    def id(self, of: int | None) -> int | None:
        return None if of is None else self.first_id + of

    def ids(self, of: list[int]) -> list[int]:
        return [self.first_id + i for i in of]

    def insert(self, connection: sa.Connection) -> None:
        dataset_id = self.first_id
        fresh = {"id": dataset_id, "user_id": "u1", "name": self.name, "head_seq": 1, "created_at": LONG_AGO}
        connection.execute(sa.insert(t.datasets).values(fresh))
        names = list(dict.fromkeys(name for row in self.stored for name in (row["source"], row["target"])))
        entity_ids = {name: self.first_id + i for i, name in enumerate(names)}
        for name, entity_id in entity_ids.items():
            row = {"id": entity_id, "dataset_id": dataset_id, "name": name, "name_key": name_key(name), "type": "other"}
            row |= {"description": "", "desc_key": fold(""), "created_at": LONG_AGO, "updated_at": LONG_AGO}
            connection.execute(sa.insert(t.entities).values(row | {"created_seq": 1, "text_seq": 1}))
        for stored in self.stored:
            times = {field: moment(stored[field]) for field in ("valid_at", "invalid_at", "expired_at")}
            row = {"id": self.id(stored["id"]), "dataset_id": dataset_id, "relation": stored["relation"]}
            row |= {"source_id": entity_ids[stored["source"]], "target_id": entity_ids[stored["target"]]}
            row |= {"description": "", "created_at": LONG_AGO, "valid_precision": "instant", "created_seq": 1}
            row |= {field: stored[field] for field in ("valid_at_source", "invalid_at_source")}
            row |= {"closed_by": self.id(stored.get("closed_by"))}
            connection.execute(sa.insert(t.edges).values(row | times))

    def extraction(self) -> dict[str, object]:
        """What the model reads: it writes a start only where the text states one."""
        new = self.new
        unsaid = new["valid_at_source"] == "reference" and new["valid_at"] == self.case["reference_time"]
        dates = {"valid_at": None if unsaid else new["valid_at"], "invalid_at": new["invalid_at"]}
        return graph(edges=[edge(new["source"], new["relation"], new["target"], **dates)])

    def verdict(self) -> dict[str, object]:
        said = self.case["llm"]
        return verdicts(verdict(0, self.id(said["duplicate_of"]), self.ids(said["contradicts"])))


async def settles(case: Case, plain: Core, model: ScriptedModel, tables: Tables) -> None:
    with tables.engine.begin() as connection:
        case.insert(connection)
        if connection.dialect.name == "postgresql":  # explicit ids leave the sequences behind
            for table in ("gb_datasets", "gb_entities", "gb_edges"):
                move = f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), {case.first_id + 500})"
                connection.execute(sa.text(move))
    always = case.verdict() if case.case["llm"] else AssertionError(f"{case.name}: the model must not be asked")
    asking = ScriptedModel(case.extraction(), always=always)
    core = replace(plain, engine=type(plain.engine)(asking), clock=lambda: case.now)  # pyright: ignore[reportCallIssue]
    told = await tell(core, "Told.", dataset=case.name, reference_time=case.case["reference_time"])

    rows = {row.id: row for row in all_edges(tables, case.first_id)}
    for row in case.expect["stored"]:
        for field in row.keys() - {"id"}:
            at = getattr(rows[case.id(row["id"])], field)
            assert at == moment(row[field]), (case.name, row["id"], field)
    expected = case.expect["new"]
    (shown,) = told.edges
    if expected["inserted"]:
        assert len(rows) == len(case.stored) + 1, case.name
        assert shown.id not in case.ids([row["id"] for row in case.stored]), case.name
        assert shown.invalid_at == rows[shown.id].invalid_at == moment(expected["invalid_at"]), case.name
        assert shown.expired_at == rows[shown.id].expired_at == moment(expected["expired_at"]), case.name
    else:
        assert len(rows) == len(case.stored), case.name
        assert shown.id == case.id(expected["merged_into"]), case.name
    assert told.invalidated_edges == case.ids(case.expect["invalidated_edges"]), case.name


def all_edges(tables: Tables, dataset_id: int) -> list[Any]:
    with tables.engine.connect() as connection:
        return list(connection.execute(sa.select(t.edges).where(t.edges.c.dataset_id == dataset_id)))


def moment(text: Any) -> Any:
    return datetime.fromisoformat(text) if text else None
