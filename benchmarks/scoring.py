"""Scoring extracted facts against a gold file: what was found, what was made up, what must not appear."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from core.graph import Extraction, StatedEdge

_FORMATS = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "instant": "%Y-%m-%dT%H:%M:%SZ"}


@dataclass(frozen=True, slots=True)
class GoldEdge:
    """A fact as a gold file or a prediction writes it."""

    source: str
    relation: str
    target: str
    valid_at: str | None = None
    invalid_at: str | None = None


@dataclass(frozen=True, slots=True)
class GoldRow:
    """One text with the facts that it states, and those that must not be read from it."""

    id: str
    text: str
    reference_time: datetime
    edges: tuple[GoldEdge, ...]
    must_not: tuple[GoldEdge, ...]


@dataclass(frozen=True, slots=True)
class Spellings:
    """The accepted spellings of relations and names."""

    same: Mapping[str, frozenset[str]]
    inverse: Mapping[str, frozenset[str]]
    symmetric: frozenset[str]
    aliases: Mapping[str, frozenset[str]]


@dataclass(slots=True)
class Score:
    """Counts over a gold file. `wrong` says each miss and each fact that is not in the gold."""

    gold: int = 0
    predicted: int = 0
    right: int = 0
    dated: int = 0
    dates_right: int = 0
    forbidden: int = 0
    violated: int = 0
    wrong: list[str] = field(default_factory=list[str])

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall: 2 * right / (gold + predicted)."""
        return 2 * self.right / max(1, self.gold + self.predicted)


def read_rows(path: Path) -> list[GoldRow]:
    """The rows of a gold file."""
    return [_row(cast("dict[str, Any]", json.loads(line))) for line in path.read_text(encoding="utf-8").splitlines()]


def read_spellings(path: Path) -> Spellings:
    """The accepted spellings that belong to a gold file."""
    rules = cast("dict[str, Any]", json.loads(path.read_text(encoding="utf-8")))
    return Spellings(
        same={name: frozenset(said["same"]) for name, said in rules["relations"].items()},
        inverse={name: frozenset(said["inverse"]) for name, said in rules["relations"].items()},
        symmetric=frozenset(rules["symmetric"]),
        aliases={name: frozenset(map(_name, aliases)) for name, aliases in rules["aliases"].items()},
    )


def predicted(extraction: Extraction, *, notes: bool = False) -> list[GoldEdge]:
    """The facts of an extraction, without its notes unless asked for; a start that was not stated is None."""
    return [_shown(e) for e in extraction.edges if notes or e.relation != "noted"]


def score(rows: Sequence[GoldRow], found: Mapping[str, Sequence[GoldEdge]], spellings: Spellings) -> Score:
    """How well what was found in each text fits the gold."""
    total = Score()
    for row in rows:
        _score_row(row, list(found[row.id]), spellings, total)
    return total


def _score_row(row: GoldRow, left: list[GoldEdge], spellings: Spellings, total: Score) -> None:
    total.gold += len(row.edges)
    total.predicted += len(left)
    for bad in row.must_not:
        total.forbidden += 1
        total.violated += any(_same(edge, bad, spellings) and edge.invalid_at is None for edge in left)
    for gold in row.edges:
        match = next((edge for edge in left if _same(edge, gold, spellings)), None)
        if match is None:
            total.wrong.append(f"{row.id} missed {gold}")
            continue
        left.remove(match)
        total.right += 1
        if gold.valid_at or gold.invalid_at:
            total.dated += 1
            total.dates_right += _dates_fit(match, gold)
    total.wrong += [f"{row.id} extra {edge}" for edge in left]


def _same(edge: GoldEdge, gold: GoldEdge, spellings: Spellings) -> bool:
    relation = re.sub(r"[^a-z0-9]+", "_", edge.relation.lower()).strip("_")
    same = relation in spellings.same.get(gold.relation, {gold.relation})
    inverse = relation in spellings.inverse.get(gold.relation, ())
    forward = _is(edge.source, gold.source, spellings) and _is(edge.target, gold.target, spellings)
    backward = _is(edge.source, gold.target, spellings) and _is(edge.target, gold.source, spellings)
    return (forward and same) or (backward and (inverse or (same and gold.relation in spellings.symmetric)))


def _is(name: str, gold: str, spellings: Spellings) -> bool:
    return _name(name) in spellings.aliases.get(gold, frozenset()) | {_name(gold)}


def _name(name: str) -> str:
    bare = re.sub(r"\s+", " ", name.strip().lower().strip(".,'\" "))
    return re.sub(r"^(the|a|an|my|our|his|her|their) ", "", bare)


def _dates_fit(edge: GoldEdge, gold: GoldEdge) -> bool:
    pairs = ((edge.valid_at, gold.valid_at), (edge.invalid_at, gold.invalid_at))
    return all((found or "").startswith(stated) if stated else not found for found, stated in pairs)


def _shown(edge: StatedEdge) -> GoldEdge:
    start = edge.valid_at.strftime(_FORMATS[edge.valid_precision]) if edge.valid_at_source == "stated" else None
    end = edge.invalid_at.strftime(_FORMATS[edge.invalid_precision or "instant"]) if edge.invalid_at else None
    return GoldEdge(edge.source, edge.relation, edge.target, start, end)


def _row(raw: dict[str, Any]) -> GoldRow:
    told = datetime.fromisoformat(raw["reference_time"])
    return GoldRow(raw["id"], raw["text"], told, tuple(_edges(raw["edges"])), tuple(_edges(raw["must_not"])))


def _edges(raw: Sequence[Mapping[str, str | None]]) -> Iterator[GoldEdge]:
    for edge in raw:
        ends = (str(edge["source"]), str(edge["relation"]), str(edge["target"]))
        yield GoldEdge(*ends, edge.get("valid_at"), edge.get("invalid_at"))
