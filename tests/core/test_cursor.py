"""The cursor of query: the rest of an evidence, as it stood, in its order, and nothing that is not there."""

from __future__ import annotations

import base64
import zlib
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.core import Core
from core.errors import InvalidRequest
from core.query.cursor import MAX_ROWS, Rest
from core.query.query import QueryRequest, query
from gligabao_mcp.providers.scripted import ScriptedModel
from tests.core.test_reading_the_past import at
from tests.facts import edge, tell, tell_facts, verdict, verdicts

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 7, 1, tzinfo=UTC)
IDS = st.lists(st.integers(1, 2**63 - 1), max_size=200, unique=True).map(tuple)


@given(dataset=st.text(min_size=1, max_size=40).filter(lambda s: s.isprintable()), entities=IDS, edges=IDS)
def test_a_cursor_says_what_it_was_made_of(dataset: str, entities: tuple[int, ...], edges: tuple[int, ...]) -> None:
    rest = Rest(dataset, NOW, entities, edges)
    assert Rest.read(rest.cursor()) == rest


def test_a_cursor_of_neighbouring_rows_is_short() -> None:
    rest = Rest("main", NOW, tuple(range(900, 1000)), tuple(range(5000, 4900, -1)))
    assert len(rest.cursor()) < 120


async def test_the_longest_cursor_is_read(plain: Core) -> None:
    await tell_facts(plain, edge("Alice", "lives_in", "Paris"))
    whole = Rest("main", NOW, tuple(range(1, MAX_ROWS + 1)), tuple(range(1, MAX_ROWS + 1)))
    assert not whole.is_too_long
    assert await rest(plain, datetime.now(UTC), whole.entities, whole.edges) == "Alice (None), Paris (None), Paris"
    assert replace(whole, edges=(*whole.edges, MAX_ROWS + 1)).is_too_long


def packed(text: str) -> str:
    return base64.urlsafe_b64encode(zlib.compress(text.encode())).decode()


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "%",
        "é",
        "AAAA",
        packed("5"),
        packed("[[]]"),
        packed('["main", "2026-07-01T00:00:00Z", [1]]'),
        packed('["main", "yesterday", [1], [1]]'),
        packed('["main", "2026-07-01T00:00:00Z", [true], [1]]'),
        packed('["main", "2026-07-01T00:00:00Z", [1.5], [1]]'),
        packed('["main", "2026-07-01T00:00:00Z", [1, -1], []]'),
        packed(f'["main", "2026-07-01T00:00:00Z", [{2**63}], []]'),
        packed('["a\\u0000", "2026-07-01T00:00:00Z", [1], []]'),
        packed('["main", "2026-07-01T00:00:00Z", [1, 0], []]'),
        packed(f'["main", "2026-07-01T00:00:00Z", [], [{"1," * MAX_ROWS}1]]'),
        packed("[" * 100_000),
        packed(f'["main", "2026-07-01T00:00:00Z", [1], [{"1," * 1_000_000}1]]'),
    ],
)
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^cursor: is no cursor of a result$"):
        Rest.read(cursor)


async def rest(core: Core, known: datetime, entities: tuple[int, ...], edges: tuple[int, ...], **more: str) -> str:
    """The rows that a cursor gets, as a line."""
    cursor = Rest("main", known, entities, edges).cursor()
    found = await query(core, QueryRequest.model_validate({"user_id": "u1", "query": "?", "cursor": cursor, **more}))
    assert found.answer is None
    names = [f"{entity.name} ({entity.description})" for entity in found.evidence.entities]
    return ", ".join([*names, *(f"{e.target}{'!' if e.expired_at else ''}" for e in found.evidence.edges)])


async def test_rows_are_read_in_their_order_as_they_stood(plain: Core, model: ScriptedModel) -> None:
    alice = {"name": "Alice", "type": "person", "description": "keeps bees"}
    first = await tell(
        at(plain, "2026-01-01"),
        entities=[alice],
        edges=[edge("Alice", "lives_in", "Paris"), edge("Alice", "has", "Cat")],
    )
    model.replies(verdicts(verdict(contradicts=[first.edges[0].id])))
    moved = await tell(
        at(plain, "2026-03-01"),
        entities=[{**alice, "description": "sells honey"}],
        edges=[edge("Alice", "lives_in", "Berlin")],
    )
    one, cat = first.edges
    people = (first.entities[0].id,)
    every = (moved.edges[0].id, cat.id, one.id)
    before = datetime(2026, 2, 1, tzinfo=UTC)
    assert await rest(plain, before, people, every) == "Alice (keeps bees), Cat, Paris"
    assert await rest(plain, NOW, people, every) == "Alice (sells honey), Berlin, Cat, Paris!"
    assert await rest(plain, NOW, (), (one.id, cat.id, 10**9)) == "Paris!, Cat"
    assert await rest(plain, datetime(2025, 1, 1, tzinfo=UTC), people, every) == ""


async def test_rows_of_another_dataset_are_not_there(plain: Core) -> None:
    await tell_facts(plain, edge("Alice", "lives_in", "Paris"))
    for whose in ({"user_id": "u2"}, {"dataset": "other"}):
        hidden = (await tell_facts(plain, edge("Bob", "lives_in", "Oslo"), **whose)).edges[0]
        assert await rest(plain, datetime.now(UTC), (hidden.source_id, hidden.target_id), (hidden.id,)) == ""
