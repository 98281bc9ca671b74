"""View: after any changes and moves of the clock it says what its rows say, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.rdf.vocabulary import GB, RDF, RDFS, relation_iri, type_iri
from storage.rdf.changes import ArtifactRow, Changes, EntityRow, FactRow, QuadRow
from storage.rdf.messages import parts
from storage.rdf.view import View

BASE = "urn:gligabao:main:"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EVERYTHING = "SELECT ?s ?p ?o { ?s ?p ?o }"
LOADED = "SELECT ?g ?s ?p ?o { GRAPH ?g { ?s ?p ?o } }"


@dataclass
class Rows:
    """The rows of a dataset."""

    entities: dict[int, EntityRow] = field(default_factory=dict[int, EntityRow])
    facts: dict[int, FactRow] = field(default_factory=dict[int, FactRow])
    artifacts: dict[int, ArtifactRow] = field(default_factory=dict[int, ArtifactRow])
    quads: dict[int, QuadRow] = field(default_factory=dict[int, QuadRow])

    def take(self, changes: Changes) -> None:
        for of in fields(self):
            kept: dict[int, Any] = getattr(self, of.name)
            for id_, row in getattr(changes, of.name).items():
                kept.pop(id_, None)
                if row is not None:
                    kept[id_] = row

    def whole(self, seq: int = 1) -> Changes:
        return Changes(seq, 0, self.entities, self.facts, self.artifacts, self.quads, whole=True)


# What rows say, written down anew and without any haste ---------------------------------------------------------------


def iri(text: str) -> ox.NamedNode:
    return ox.NamedNode(text)


def node(kind: str, id_: int) -> ox.NamedNode:
    return iri(f"{BASE}{kind}/{id_}")


def time(micros: int) -> ox.Literal:
    text = (EPOCH + timedelta(microseconds=micros)).isoformat().replace("+00:00", "Z")
    return ox.Literal(text, datatype=iri("http://www.w3.org/2001/XMLSchema#dateTime"))


def named(name: ox.NamedNode, of: str, label: str) -> Iterator[ox.Quad]:
    yield ox.Quad(name, iri(f"{RDF}type"), iri(of))
    yield ox.Quad(name, iri(f"{RDFS}label"), ox.Literal(label.replace("_", " ")))


def graph(rows: Rows, now: int) -> Iterator[ox.Quad]:
    for id_, entity in rows.entities.items():
        yield ox.Quad(node("entity", id_), iri(f"{RDF}type"), iri(type_iri(BASE, entity.type)))
        yield ox.Quad(node("entity", id_), iri(f"{RDFS}label"), ox.Literal(entity.name))
        if entity.description:
            yield ox.Quad(node("entity", id_), iri(f"{GB}description"), ox.Literal(entity.description))
        yield from named(iri(type_iri(BASE, entity.type)), f"{RDFS}Class", entity.type)
    for fact in rows.facts.values():
        yield from named(iri(relation_iri(BASE, fact.relation)), f"{RDF}Property", fact.relation)
        is_live = fact.expired_at is None
        if is_live and fact.valid_at <= now and (fact.invalid_at is None or now < fact.invalid_at):
            relation = iri(relation_iri(BASE, fact.relation))
            yield ox.Quad(node("entity", fact.source_id), relation, node("entity", fact.target_id))
    for row in rows.quads.values():
        for quad in ox.parse(f"{row.subject} {row.predicate} {row.object} {row.graph} .", ox.RdfFormat.N_QUADS):
            yield quad
            yield ox.Quad(*quad.triple)


def fact_nodes(rows: Rows) -> Iterator[ox.Quad]:
    for id_, fact in rows.facts.items():
        triple = ox.Triple(
            node("entity", fact.source_id), iri(relation_iri(BASE, fact.relation)), node("entity", fact.target_id)
        )
        said: list[tuple[str, Any]] = [
            (f"{RDF}type", iri(f"{GB}Fact")),
            (f"{RDF}reifies", triple),
            (f"{GB}subject", triple.subject),
            (f"{GB}predicate", triple.predicate),
            (f"{GB}object", triple.object),
            (f"{GB}validAt", time(fact.valid_at)),
            (f"{GB}createdAt", time(fact.created_at)),
            *((f"{GB}invalidAt", time(moment)) for moment in [fact.invalid_at] if moment is not None),
            *((f"{GB}expiredAt", time(moment)) for moment in [fact.expired_at] if moment is not None),
            *((f"{GB}description", ox.Literal(text)) for text in [fact.description] if text),
            *((f"{GB}artifact", node("artifact", i)) for i in [fact.artifact_id] if i is not None),
            *((f"{GB}statedIn", node("artifact", i)) for i in fact.artifacts),
            *((f"{GB}session", ox.Literal(session)) for session in fact.sessions),
        ]
        yield from (ox.Quad(node("edge", id_), iri(name), value) for name, value in said)
    for id_, artifact in rows.artifacts.items():
        texts = {"session": artifact.session_id, "speaker": artifact.speaker, "text": artifact.beginning}
        said = [
            (f"{RDF}type", iri(f"{GB}Artifact")),
            (f"{GB}kind", ox.Literal(artifact.kind)),
            (f"{GB}validAt", time(artifact.valid_at)),
            (f"{GB}createdAt", time(artifact.created_at)),
            *((f"{GB}partOf", node("artifact", i)) for i in [artifact.parent_id] if i is not None),
            *((f"{GB}{name}", ox.Literal(text)) for name, text in texts.items() if text),
        ]
        yield from (ox.Quad(node("artifact", id_), iri(name), value) for name, value in said)


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
ENTITIES = st.builds(EntityRow, NAMES, KINDS, st.sampled_from(["", "An engineer."]))
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
PREDICATES = st.sampled_from([f"<{RDF}type>", f"<{RDFS}label>", f"<{BASE}relation/works_at>", "<urn:p>"])
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
