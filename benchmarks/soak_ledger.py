"""What a soak told the memory, what of it was acknowledged, and whether the memory holds just that."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.scripted_api import fact

Fact = tuple[str, str, str]
HUB_EVERY = 50


@dataclass(slots=True, eq=False)
class Told:
    """One text, and what came of the calls that told it."""

    user_id: str
    number: int
    key: str | None
    """Its idempotency key."""
    read_by_model: bool
    calls: int = 0
    artifact_ids: set[int] = field(default_factory=set[int])
    run_ids: set[int] = field(default_factory=set[int])

    @property
    def facts(self) -> tuple[Fact, Fact]:
        person = f"person{self.number}"
        return (person, "likes", f"thing{self.number}"), (person, "knows", f"friend{self.number // HUB_EVERY}")

    @property
    def text(self) -> str:
        return " ".join(f"{' '.join(said)}." for said in self.facts)

    @property
    def arguments(self) -> dict[str, Any]:
        """What a client sends to remember."""
        keyed = {"idempotency_key": self.key} if self.key else {}
        read = {} if self.read_by_model else {"edges": [fact(*said) for said in self.facts]}
        return {"user_id": self.user_id, "text": self.text, **keyed, **read}

    @property
    def acknowledged(self) -> bool:
        """Whether an answer said that it is stored, or that it will be."""
        return bool(self.artifact_ids or self.run_ids)

    @property
    def at_most(self) -> int:
        """How often it may be stored: a call that nobody waited for counts, calls of one key are one."""
        return 1 if self.key else self.calls

    def answered(self, body: dict[str, Any]) -> None:
        """Notes an answer of remember."""
        if "artifact_id" in body:
            self.artifact_ids.add(body["artifact_id"])
        else:
            self.run_ids.add(body["remember_run_id"])


class Memory:
    """The database file, read beside those who use it."""

    def __init__(self, file: Path) -> None:
        self._uri = f"{file.as_uri()}?mode=ro"

    def unfinished(self, run_ids: set[int]) -> int:
        """How many of these runs have not ended."""
        started = {run_id for (run_id,) in self._rows("SELECT id FROM gb_remember_runs WHERE status = 'started'")}
        return len(started & run_ids)

    def faults(self, told: list[Told]) -> Iterator[str]:
        """Every text that is lost, stored too often or without its facts, and every fact that is there twice."""
        artifacts: dict[tuple[str, str], set[int]] = {}
        for user_id, text, artifact_id in self._rows(
            "SELECT d.user_id, a.text, a.id FROM gb_artifacts a JOIN gb_datasets d ON d.id = a.dataset_id"
        ):
            artifacts.setdefault((user_id, text), set()).add(artifact_id)
        facts = Counter(
            self._rows(
                "SELECT d.user_id, s.name, e.relation, t.name FROM gb_edges e JOIN gb_datasets d ON d.id = e.dataset_id"
                " JOIN gb_entities s ON s.id = e.source_id JOIN gb_entities t ON t.id = e.target_id"
                " WHERE e.expired_at IS NULL"
            )
        )
        links = Counter(artifact_id for (artifact_id,) in self._rows("SELECT artifact_id FROM gb_edge_artifacts"))
        for one in told:
            stored = artifacts.pop((one.user_id, one.text), set())
            counts = [facts[one.user_id, *said] for said in one.facts]
            if one.acknowledged and not stored:
                yield f"lost: {one.text}"
            if not one.artifact_ids <= stored:
                yield f"artifacts {one.artifact_ids - stored} were acknowledged and are not there: {one.text}"
            if len(stored) > one.at_most:
                yield f"stored {len(stored)} times, at most {one.at_most}: {one.text}"
            if counts != ([1, 1] if stored else [0, 0]):
                yield f"its facts are there {counts} times: {one.text}"
            if any(links[artifact_id] != len(one.facts) for artifact_id in stored):
                yield f"an artifact lacks facts: {one.text}"
        yield from (f"never told: {text}" for _, text in artifacts)

    def _rows(self, select: str) -> list[Any]:
        with closing(sqlite3.connect(self._uri, uri=True, timeout=30)) as connection:
            return connection.execute(select).fetchall()
