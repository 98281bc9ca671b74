"""What is read of a query's text, and the cursors of what goes on at a commit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidRequest
from core.sparql.cursor import Place
from core.sparql.shape import shape_of

SEQS = st.integers(0, 2**63 - 1)


@pytest.mark.parametrize(
    ("text", "ordered", "limit", "offset"),
    [
        ("SELECT ?s { ?s ?p ?o }", False, None, None),
        ("SELECT ?s { ?s ?p ?o } ORDER BY ?s LIMIT 5 OFFSET 2", True, 5, 2),
        ("select ?s { ?s ?p ?o } order by desc(?s) offset 2 limit 5", True, 5, 2),
        ("SELECT ?s { ?s ?p ?o }LIMIT5", False, 5, None),
        ("SELECT ?s { { SELECT ?s { ?s ?p ?o } ORDER BY ?s LIMIT 3 } }", False, None, None),
        ('SELECT ?s { ?s ?p "LIMIT 3" } # ORDER BY ?s LIMIT 4', False, None, None),
        ("SELECT (EXISTS { { SELECT ?s {} LIMIT 1 } } AS ?limit) {} HAVING(?limit > 1) LIMIT 7", False, 7, None),
    ],
)
def test_only_the_modifiers_of_the_query_itself_count(
    text: str, ordered: bool, limit: int | None, offset: int | None
) -> None:
    shape = shape_of(text)
    assert (shape.is_ordered, shape.limit, shape.offset) == (ordered, limit, offset)
    if limit is not None:
        assert text[slice(*shape.limit_at)] == str(limit)


@given(seqs=st.tuples(SEQS, SEQS), offset=SEQS, request=st.lists(st.text() | st.none() | st.integers()))
def test_a_cursor_says_what_it_was_made_of_and_for_which_request(
    seqs: tuple[int, int], offset: int, request: list[object]
) -> None:
    place = Place(seqs, offset)
    assert Place.read(place.cursor(request), request, 2) == place
    with pytest.raises(InvalidRequest, match="cursor: belongs to another request"):
        Place.read(place.cursor(request), [*request, "more"], 2)
    with pytest.raises(InvalidRequest, match="cursor: is no cursor"):
        Place.read(place.cursor(request), request, 1)


@given(text=st.text(max_size=300))
def test_any_other_text_is_no_cursor(text: str) -> None:
    with pytest.raises(InvalidRequest, match="cursor: is no cursor of a page"):
        Place.read(text, [], 1)
