"""View: after any changes and moves of the clock it says what its rows say, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.rdf.vocabulary import GB, RDF, RDFS
from storage.rdf.changes import ArtifactRow, Changes, EntityRow, FactRow, QuadRow
from storage.rdf.messages import parts
from storage.rdf.view import View
from tests.rdf.written_down import ALIAS, BASE, Rows, fact_nodes, graph

EVERYTHING = "SELECT ?s ?p ?o { ?s ?p ?o }"
LOADED = "SELECT ?g ?s ?p ?o { GRAPH ?g { ?s ?p ?o } }"


def answers(found: Any) -> Counter[str]:
    return Counter(" ".join(str(value) for value in row) for row in found)


def check(view: View, rows: Rows, now: int) -> None:
    """The view and a graph that was just written down say the same, each triple once."""
    fresh = ox.Store()
    fresh.extend(graph(rows, now))
    assert answers(view.query(EVERYTHING)) == answers(fresh.query(EVERYTHING))
    assert answers(view.query(LOADED)) == answers(fresh.query(LOADED))
    assert view.query("ASK { GRAPH ?g { ?s a <urn:gligabao-terms:Fact> } }", facts=True) == fresh.query(
        "ASK { GRAPH ?g { ?s a <urn:gligabao-terms:Fact> } }"
    )
    if view.with_facts:
        fresh.extend(fact_nodes(rows))
        apart = View(BASE, now, with_facts=True)
        apart.load(rows.whole())
        apart.finish()
        apart.set_apart()
        assert answers(apart.query(EVERYTHING, facts=True)) == answers(fresh.query(EVERYTHING))
        if not any(row.subject.startswith(f"<{BASE}edge/") for row in rows.quads.values()):
            assert answers(view.query(EVERYTHING, facts=True)) == answers(fresh.query(EVERYTHING))


# Any rows, in any order -----------------------------------------------------------------------------------------------

MOMENTS = st.integers(0, 6).map(lambda n: n * 1_000_001)
IDS = st.integers(1, 4)
NAMES = st.sampled_from(["Ada", 'a "quoted"\nname\u2028\x7f', "ünï © code", "<x> .\\n"])
KINDS = st.sampled_from(["person", "type of/thing", "works_at"])
OTHER_NAMES = st.sets(NAMES, max_size=2).map(tuple)
ENTITIES = st.builds(EntityRow, NAMES, KINDS, st.sampled_from(["", "An engineer."]), OTHER_NAMES)
FACTS = st.builds(
    FactRow,
    IDS,
    KINDS,
    IDS,
    MOMENTS,
    st.none() | MOMENTS,
    MOMENTS,
    st.none() | MOMENTS,
    st.sampled_from(["", "Said."]),
    st.none() | IDS,
    st.sets(IDS, max_size=2).map(tuple),
    st.sets(st.sampled_from(["s1", "s2"])).map(tuple),
)
ARTIFACTS = st.builds(
    ArtifactRow, KINDS, MOMENTS, MOMENTS, st.none() | NAMES, st.none() | NAMES, st.none() | IDS, st.just("") | NAMES
)
XSD = "http://www.w3.org/2001/XMLSchema#"
SUBJECTS = st.sampled_from([f"<{BASE}entity/1>", f"<{BASE}edge/1>", "<urn:a>", "_:b1"])
PREDICATES = st.sampled_from([f"<{RDF}type>", f"<{RDFS}label>", f"<{ALIAS}>", f"<{BASE}relation/works_at>", "<urn:p>"])
OBJECTS = st.sampled_from(
    [
        '"Ada"',
        f"<{BASE}type/person>",
        f"<{BASE}entity/2>",
        f"<{GB}Fact>",
        f'"1"^^<{XSD}integer>',
        f'"01"^^<{XSD}integer>',
        '"x"@en-gb',
        "_:b2",
        "<<( <urn:a> <urn:b> _:b1 )>>",
    ]
)
QUADS = st.builds(QuadRow, SUBJECTS, PREDICATES, OBJECTS, st.sampled_from(["", "", "<urn:g>", "_:g"]))


def some(rows: st.SearchStrategy[Any]) -> st.SearchStrategy[Mapping[int, Any]]:
    return st.dictionaries(IDS, st.none() | rows, max_size=4)


CHANGES = st.builds(Changes, st.just(2), MOMENTS, some(ENTITIES), some(FACTS), some(ARTIFACTS), some(QUADS))


@settings(max_examples=150, deadline=None)
@given(st.booleans(), CHANGES, MOMENTS, st.lists(CHANGES | MOMENTS, max_size=6))
def test_after_any_changes_and_moves_it_says_what_its_rows_say(
    with_facts: bool, first: Changes, now: int, steps: list[Changes | int]
) -> None:
    rows = Rows()
    rows.take(first)
    view = View(BASE, now, with_facts=with_facts)
    for part in parts(rows.whole()):
        view.load(part)
    view.finish()
    check(view, rows, now)
    for step in steps:
        if isinstance(step, int):
            now = step
            view.move_to(now)
        else:
            rows.take(step)
            view.apply(step)
        check(view, rows, now)


# Some of it told ------------------------------------------------------------------------------------------------------


def fact(valid_at: int = 0, invalid_at: int | None = None, expired_at: int | None = None) -> FactRow:
    return FactRow(1, "works_at", 2, valid_at, invalid_at, 0, expired_at)


def view_of(*facts: FactRow, now: int = 10) -> View:
    view = View(BASE, now)
    view.load(Changes(1, 0, facts=dict(enumerate(facts, 1)), whole=True))
    view.finish()
    return view


def is_stated(view: View) -> bool:
    return bool(view.query(f"ASK {{ <{BASE}entity/1> <{BASE}relation/works_at> <{BASE}entity/2> }}"))


def test_a_fact_begins_and_ends_by_the_clock() -> None:
    view = view_of(fact(valid_at=5, invalid_at=20))
    moments = {0: False, 4: False, 5: True, 19: True, 20: False, 30: False}
    for moment in [*moments, *reversed(moments), 19, 4]:
        view.move_to(moment)
        assert is_stated(view) == moments[moment]


@pytest.mark.parametrize("gone", [fact(expired_at=9), fact(invalid_at=8), fact(valid_at=11), None])
def test_a_triple_stays_while_another_fact_states_it(gone: FactRow | None) -> None:
    view = view_of(fact(), fact())
    view.apply(Changes(2, 0, facts={1: gone}))
    assert is_stated(view)
    view.apply(Changes(3, 0, facts={2: gone}))
    assert not is_stated(view)


def test_a_view_that_was_changed_a_lot_says_that_it_is_worn() -> None:
    view = view_of(fact())
    assert not view.is_worn
    for seq in range(2, 120):
        changed = fact() if seq % 2 else None
        view.apply(Changes(seq, 0, facts=dict.fromkeys(range(1, 2000), changed)))
    assert view.is_worn


def loaded_view(*quads: QuadRow, facts: bool = False) -> View:
    view = View(BASE, 10, with_facts=facts)
    view.load(Changes(1, 0, facts={1: fact()}, quads=dict(enumerate(quads, 1)), whole=True))
    view.finish()
    return view


def rows_of(view: View, text: str, *, facts: bool = False) -> list[list[str]]:
    found = view.query(text, facts=facts)
    assert isinstance(found, ox.QuerySolutions)
    return [[str(value) for value in row] for row in found]


def test_long_texts_count_for_the_memory_of_a_view() -> None:
    short, long = (loaded_view(QuadRow("<urn:a>", "<urn:p>", f'"{"a" * size}"')) for size in (10, 1_000_000))
    assert short.bytes < 10_000
    assert long.bytes > 1_000_000
    short.apply(Changes(2, 0, quads={1: QuadRow("<urn:a>", "<urn:p>", f'"{"a" * 1_000_000}"')}))
    assert short.bytes > 1_000_000


def test_a_number_that_is_spelled_in_two_ways_stays_while_one_of_them_does() -> None:
    view = loaded_view(*(QuadRow("<urn:a>", "<urn:p>", f'"{spelled}"^^<{XSD}integer>') for spelled in ("1", "01")))
    view.apply(Changes(2, 0, quads={1: None}))
    assert view.query("ASK { <urn:a> <urn:p> 1 }")
    view.apply(Changes(3, 0, quads={2: None}))
    assert not view.query("ASK { <urn:a> <urn:p> 1 }")


def test_what_was_loaded_of_a_fact_node_is_found_once() -> None:
    view = loaded_view(QuadRow(f"<{BASE}edge/1>", f"<{RDF}type>", f"<{GB}Fact>"), facts=True)
    view.set_apart()
    assert rows_of(view, f"SELECT * {{ ?f a <{GB}Fact> }}", facts=True) == [[f"<{BASE}edge/1>"]]


def test_terms_come_through_as_they_were_loaded() -> None:
    texts = ["_:b1", "_:B-1.x", '"x"@en', '"2020-02-30"^^<urn:date>', '"a\\tb\\u0007"', "<urn:é>", '"r"@ar--rtl']
    view = loaded_view(*(QuadRow("<urn:a>", "<urn:p>", text, "<urn:g>") for text in texts))
    found = rows_of(view, "SELECT ?o { GRAPH <urn:g> { <urn:a> <urn:p> ?o } }")
    assert sorted(value for (value,) in found) == sorted(texts)


def test_no_query_reaches_the_graph_of_the_nodes_by_a_name() -> None:
    view = loaded_view(QuadRow("<urn:a>", "<urn:p>", "<urn:b>", "<urn:g>"), facts=True)
    assert rows_of(view, "SELECT ?g { GRAPH ?g { ?s ?p ?o } }", facts=True) == [["<urn:g>"]]
