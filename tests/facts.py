"""What the scripted model says, and short ways to tell and ask."""

from __future__ import annotations

from typing import Any

from core.core import Core
from core.query.query import QueryRequest, QueryResponse, query
from core.remember.remember import remember
from core.remember.request import RememberRequest
from core.remember.response import RememberResponse

Reply = dict[str, object]


def graph(*entities: str, edges: list[dict[str, object]] | None = None) -> Reply:
    """An extraction: entities as "Name" or "Name:type" or "Name:type:description"."""
    listed = [dict(zip(("name", "type", "description"), [*e.split(":"), "", ""][:3], strict=True)) for e in entities]
    return {"entities": listed, "edges": edges or []}


def edge(source: str, relation: str, target: str, **more: object) -> dict[str, object]:
    """One extracted fact; valid_at, invalid_at and description by keyword."""
    stated: dict[str, object] = {"source": source, "relation": relation, "target": target}
    return stated | {"description": "", "valid_at": None, "invalid_at": None} | more


def verdicts(*results: dict[str, object]) -> Reply:
    """The resolver's answer."""
    return {"results": list(results)}


def verdict(new: int = 0, duplicate_of: int | None = None, contradicts: list[int] | None = None) -> dict[str, object]:
    return {"new": new, "duplicate_of": duplicate_of, "contradicts": contradicts or []}


def answer(text: str, entities: list[int] | None = None, edges: list[int] | None = None) -> Reply:
    """The answering model's reply."""
    return {"answer": text, "entities": entities or [], "edges": edges or []}


ALICE_WORKS_AT_ACME = graph(
    "Alice:person:engineer",
    "Acme:organization",
    edges=[edge("Alice", "works_at", "Acme", description="Alice works at Acme.", valid_at="2025-01-31T09:00:00Z")],
)


async def tell(core: Core, text: str = "Alice works at Acme.", user_id: str = "u1", **more: Any) -> RememberResponse:
    told = await remember(core, RememberRequest(user_id=user_id, text=text, **more))
    assert isinstance(told, RememberResponse)
    return told


async def tell_facts(core: Core, *edges: dict[str, object], text: str = "Told.", **more: Any) -> RememberResponse:
    """Facts that the caller read from the text itself: no model is asked to read."""
    return await tell(core, text, edges=list(edges), **more)


async def ask(core: Core, question: str, user_id: str = "u1", **more: Any) -> QueryResponse:
    return await query(core, QueryRequest(user_id=user_id, query=question, **more))
