"""Facts as text, as a model reads them: one line each, with the ids it may cite."""

from __future__ import annotations

from datetime import datetime

from core.graph import Edge, Entity, StatedEdge
from core.prompts.fence import harmless
from core.query.subgraph import Subgraph
from core.times import rfc3339


def render(subgraph: Subgraph) -> list[str]:
    """The entities, then the facts, a line each: `[edge 1] Alice(1) --works_at--> Acme(2): … [valid_at=…]`."""
    return [*map(entity_line, subgraph.entities), *map(edge_line, subgraph.edges)]


def entity_line(entity: Entity) -> str:
    """`[entity 1] Alice (person): engineer`."""
    return f"[entity {entity.id}] {_line(entity.name)} ({_line(entity.type)}){_described(entity.description)}"


def edge_line(edge: Edge) -> str:
    """`[edge 1] Alice(1) --works_at--> Acme(2): Alice works at Acme. [valid_at=…, invalid_at=…, superseded]`."""
    source, target = f"{_line(edge.source)}({edge.source_id})", f"{_line(edge.target)}({edge.target_id})"
    fact = f"{source} --{_line(edge.relation)}--> {target}{_described(edge.description)}"
    return f"[edge {edge.id}] {fact} [{_times(edge.valid_at, edge.invalid_at, superseded=not edge.live)}]"


def fact_line(fact: Edge | StatedEdge) -> str:
    """`Alice --works_at--> Acme: Alice works at Acme. [valid_at=…]`, without ids."""
    triple = f"{_line(fact.source)} --{_line(fact.relation)}--> {_line(fact.target)}"
    return f"{triple}{_described(fact.description)} [{_times(fact.valid_at, fact.invalid_at)}]"


def _times(valid_at: datetime, invalid_at: datetime | None, *, superseded: bool = False) -> str:
    parts = [f"valid_at={rfc3339(valid_at)}"]
    if invalid_at is not None:
        parts.append(f"invalid_at={rfc3339(invalid_at)}")
    if superseded:
        parts.append("superseded")
    return ", ".join(parts)


def _described(description: str) -> str:
    return f": {_line(description)}" if description.strip() else ""


def _line(text: str) -> str:
    """The text on one line: a stored line break must not start a line of its own among ours."""
    return harmless(" ".join(text.split()))
