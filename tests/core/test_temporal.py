"""The worked cases of temporal facts, on the pure rule."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from core.graph import Edge, StatedEdge, Verdict
from core.temporal import settle, superseded_by

CASES = json.loads((Path(__file__).parents[1] / "temporal_cases.json").read_text("utf-8"))["cases"]


def moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def stored_edge(row: dict[str, Any]) -> Edge:
    valid_at = moment(row["valid_at"])
    assert valid_at is not None
    return Edge(
        id=row["id"],
        source_id=hash(row["source"]),
        target_id=hash(row["target"]),
        source=row["source"],
        target=row["target"],
        relation=row["relation"],
        description="",
        artifact_id=1,
        model_id="m",
        valid_at=valid_at,
        invalid_at=moment(row["invalid_at"]),
        created_at=datetime(2020, 1, 1, tzinfo=UTC),
        expired_at=moment(row["expired_at"]),
        valid_at_source=row["valid_at_source"],
        invalid_at_source=row["invalid_at_source"],
        closed_by=row.get("closed_by"),
    )


def stated_edge(row: dict[str, Any]) -> StatedEdge:
    valid_at = moment(row["valid_at"])
    assert valid_at is not None
    return StatedEdge(
        source=row["source"],
        target=row["target"],
        relation=row["relation"],
        description="",
        valid_at=valid_at,
        invalid_at=moment(row["invalid_at"]),
        valid_at_source=row["valid_at_source"],
    )


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_new_fact_settles_with_the_stored_ones(case: dict[str, Any]) -> None:
    stored = [stored_edge(row) for row in case["stored"]]
    new = stated_edge(case["new"])
    verdict = Verdict()
    if said := case["llm"]:
        verdict = Verdict(said["duplicate_of"], tuple(said["contradicts"]))
    now, reference_time = moment(case["now"]), moment(case["reference_time"])
    assert now is not None and reference_time is not None

    settled = settle(
        new,
        same=[e for e in stored if (e.source, e.relation, e.target) == (new.source, new.relation, new.target)],
        candidates=[e for e in stored if e.live],
        superseded=superseded_by(verdict.contradicts, stored),
        verdict=verdict,
        reference_time=reference_time,
        now=now,
    )

    after = {e.id: {"valid_at": e.valid_at, "invalid_at": e.invalid_at, "expired_at": e.expired_at} for e in stored}
    for change in settled.changes:
        after[change.edge_id] = {
            "valid_at": change.valid_at,
            "invalid_at": change.invalid_at,
            "expired_at": change.expired_at,
        }
    for row in case["expect"]["stored"]:
        for field in row.keys() - {"id"}:
            assert after[row["id"]][field] == moment(row[field]), (row["id"], field)
    expected = case["expect"]["new"]
    assert (settled.merged_into is None) == expected["inserted"]
    if expected["inserted"]:
        assert settled.invalid_at == moment(expected["invalid_at"])
        assert settled.expired_at == moment(expected["expired_at"])
    else:
        assert settled.merged_into == expected["merged_into"]
    assert list(settled.invalidated) == case["expect"]["invalidated_edges"]
