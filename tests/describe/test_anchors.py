"""The records that a user picked, as they are read."""

from __future__ import annotations

import pytest

from core.core import Core
from core.describe.anchors import Anchor, read_anchors
from core.describe.prefixes import ShortNames
from core.errors import InvalidRequest
from core.graph import Dataset
from tests.describe.shop import FIELD, KIND, RECORD, TURTLE
from tests.facts import edge, tell_facts
from tests.requirements import requirement
from tests.sparql.catalog import load, update

pytestmark = pytest.mark.anyio


async def anchor(core: Core, dataset: Dataset, iri: str, at_seq: int | None = None) -> Anchor:
    [found] = await read_anchors(core, dataset, [iri], at_seq)
    return found


@requirement("anchors.read")
async def test_types_label_and_links_in_both_directions_are_read(core: Core) -> None:
    dataset = await load(core, TURTLE)
    tills = await anchor(core, dataset, f"{RECORD}tills")
    assert (tills.found, tills.label, list(tills.types), tills.note) == (True, "till-gateway", [f"{KIND}Service"], None)
    links = [(link.property, link.outgoing, link.count, [one.iri for one in link.records]) for link in tills.links]
    assert links == [
        (f"{FIELD}team", True, 1, [f"{RECORD}checkout"]),
        (f"{FIELD}hit", False, 1, [f"{RECORD}freeze"]),
    ]
    assert tills.links[0].records[0].label == "checkout team"
    short = ShortNames({"k": KIND, "f": FIELD})
    assert tills.lines(short) == [
        f'<{RECORD}tills> a k:Service "till-gateway"',
        f'  f:team -> <{RECORD}checkout> "checkout team"',
        f"  f:hit <- <{RECORD}freeze>",
    ]


@requirement("privacy.anchor-links")
async def test_of_each_link_at_most_three_records_go_out_and_no_text(core: Core) -> None:
    rows = "\n".join(f'<{RECORD}p{n}> <{FIELD}of> <{RECORD}hub> ; <{FIELD}secret> "s{n}" .' for n in range(9))
    dataset = await load(core, f'{rows} <{RECORD}hub> <{FIELD}secret> "hush" .')
    hub = await anchor(core, dataset, f"{RECORD}hub")
    assert [(link.count, len(link.records)) for link in hub.links] == [(9, 3)]
    lines = "\n".join(hub.lines(ShortNames({})))
    assert "and 6 more" in lines
    assert "hush" not in lines
    assert "secret" not in lines


@requirement("anchors.unknown")
@pytest.mark.parametrize(
    ("iri", "note"),
    [
        (f"{RECORD}nowhere", "The graph has no statements about this IRI."),
        ("nowhere", "This is no IRI."),
        (f"{RECORD}a> ?p ?o }} #", "This is no IRI."),
        (f"{RECORD}%zz", "This is no IRI."),
        ("http://[", "This is no IRI."),
        ("", "This is no IRI."),
    ],
)
async def test_what_the_graph_lacks_has_a_note(core: Core, iri: str, note: str) -> None:
    found, there = await read_anchors(core, await load(core, TURTLE), [iri, f"{RECORD}tills"])
    assert (found.iri, found.found, found.note) == (iri, False, note)
    assert found.lines(ShortNames({})) == [f"<{iri}>: {note}"]
    assert there.found


async def test_an_anchor_is_read_at_the_commit_that_is_asked_for(core: Core) -> None:
    await load(core, TURTLE)
    dataset = await update(core, f"DELETE DATA {{ <{RECORD}tills> <{FIELD}team> <{RECORD}checkout> }}")
    assert [link.property for link in (await anchor(core, dataset, f"{RECORD}tills")).links] == [f"{FIELD}hit"]
    assert len((await anchor(core, dataset, f"{RECORD}tills", at_seq=1)).links) == 2
    with pytest.raises(InvalidRequest) as failure:
        await anchor(core, dataset, f"{RECORD}tills", at_seq=9)
    assert failure.value.param == "as_of_commit_seq"


async def test_what_was_told_of_an_entity_is_read(core: Core) -> None:
    await tell_facts(core, edge("Alice", "works at", "Acme"))
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None
    alice = await anchor(core, dataset, "urn:gligabao:main:entity/1")
    assert (alice.label, list(alice.types)) == ("Alice", ["urn:gligabao:main:type/other"])
    assert [one.label for link in alice.links for one in link.records] == ["Acme"]


async def test_nothing_is_there_where_nothing_was_told(core: Core) -> None:
    found = await anchor(core, Dataset(0, "u1", "main", 0), f"{RECORD}tills")
    assert (found.found, found.note) == (False, "The graph has no statements about this IRI.")
