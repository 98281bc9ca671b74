"""RDF documents loaded beside what was remembered: all of one, in one commit, or nothing."""

from __future__ import annotations

import asyncio
import gzip
from datetime import timedelta
from typing import Any, cast

import pytest
from lbb import models

from core.core import Core
from core.errors import IdempotencyConflict, InvalidRequest
from core.forget.forget import ForgetRequest, forget
from core.graphs.import_rdf import ImportRdfRequest, import_rdf
from core.uploads import Upload
from storage.forget import SqlForgetting
from tests.conftest import Tables
from tests.facts import edge, tell_facts
from tests.rdf.loading import Endless, head, load, triples

pytestmark = pytest.mark.anyio

TURTLE = """@prefix s: <urn:s:> .
s:a a s:Thing ;
    s:knows s:b, s:c ;
    s:says "hi"@en, 5 .
"""
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"


async def test_a_load_is_one_commit_and_tells_what_became_of_each_triple(plain: Core) -> None:
    first = await load(plain, TURTLE, format="turtle")
    shown = models.GraphRdfImportResponse.model_validate(first.body())
    assert (shown.graph_created, shown.imported_triplets, shown.error_count) == (True, 5, 0)
    assert (first.committed_commit_seq, first.lines_read, first.triples_read) == (1, 4, 5)
    assert (first.resource_triples, first.literal_triples, first.predicate_count) == (3, 2, 3)
    knows = next(one for one in first.predicates if one.uri == "urn:s:knows")
    assert (knows.triples, knows.resource_triples, knows.literal_triples) == (2, 2, 0)
    more = await load(plain, f'{TURTLE} s:a s:says "hi"@en, "new" ; s:knows s:d .', format="turtle")
    assert not more.graph_created
    assert (more.committed_commit_seq, more.imported_triplets) == (2, 2)
    assert (more.duplicate_resource_triples, more.duplicate_literal_triples) == (3, 3)
    assert f"<urn:s:a> {TYPE} <urn:s:Thing>" in await triples(plain)
    assert len(await triples(plain)) == 7 and len(await triples(plain, seq=1)) == 5


async def test_what_is_there_already_makes_no_commit(plain: Core, tables: Tables) -> None:
    await load(plain, TURTLE, format="turtle")
    again = await load(plain, TURTLE, format="turtle")
    assert again.committed_commit_seq is None and again.imported_triplets == 0
    models.GraphRdfImportResponse.model_validate(again.body())
    assert await head(plain) == 1 == tables.count("gb_commits")
    nothing = await load(plain, "# nothing\n", dataset="empty")
    assert (nothing.triples_read, nothing.graph_created) == (0, False)
    assert await plain.graph.dataset("u1", "empty") is None


@pytest.mark.parametrize(
    ("format", "text", "more"),
    [
        ("ntriples", "<https://s/a> <https://s/p> <https://s/b> .", {"graph_uri": "https://s/g"}),
        ("turtle", "<a> <p> <b> .", {"base_iri": "https://s/x", "graph_uri": "https://s/g"}),
        ("nquads", "<https://s/a> <https://s/p> <https://s/b> <https://s/g> .", {}),
        ("trig", "PREFIX s: <https://s/> GRAPH s:g { s:a s:p s:b }", {"graph_uri": "urn:other"}),
    ],
)
async def test_four_formats_say_the_same(plain: Core, format: str, text: str, more: dict[str, str]) -> None:
    await load(plain, text, format=format, **more)
    assert await triples(plain) == {"<https://s/a> <https://s/p> <https://s/b> <https://s/g>"}


async def test_two_documents_never_share_a_blank_node(plain: Core) -> None:
    for _ in range(2):
        await load(plain, "_:x <urn:p> _:x . _:x <urn:p> [] .", format="turtle")
    found = [line.split() for line in await triples(plain)]
    assert len(found) == 4 and len({name for line in found for name in (line[0], line[2])}) == 4
    assert sum(line[0] == line[2] for line in found) == 2


async def test_every_kind_of_term_is_kept(plain: Core) -> None:
    terms = [
        '"a\\u0000b"',
        '"rtl"@ar--rtl',
        '"1"^^<urn:t>',
        "<<( <urn:a> <urn:p> <<( _:x <urn:p> 1 )>> )>>",
        '"""q"uo\nte"""',
    ]
    await load(plain, "".join(f"<urn:s> <urn:p> {term} .\n" for term in terms), format="turtle")
    found = await triples(plain)
    assert {'<urn:s> <urn:p> "a\\u0000b"', '<urn:s> <urn:p> "rtl"@ar--rtl', '<urn:s> <urn:p> "q\\"uo\\nte"'} <= found
    assert any("<<( <urn:a> <urn:p> <<( _:c1_x <urn:p> " in line for line in found)


@pytest.mark.parametrize(
    ("text", "format", "wrong"),
    [
        ("r:oops a .", "turtle", "line 1"),
        (TURTLE + "s:a s:p 'never closed .\n", "turtle", "line 5"),
        ("<urn:a> <urn:b> <urn:c> .\nnot a triple\n", "ntriples", "line 2"),
        (b"<urn:a> <urn:b> '\xff' .\n", "turtle", "line 1"),
        ("<a> <b> <c> .", "turtle", "line 1"),
        (f"<urn:a> <urn:b> 'short' .\n<urn:a> <urn:b> '{'long' * (5 << 20)}' .", "turtle", "line 2"),
    ],
)
async def test_nothing_is_half_loaded(plain: Core, tables: Tables, text: str | bytes, format: str, wrong: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^content: {wrong}: ") as refused:
        await load(plain, text, format=format)
    assert refused.value.param == "content" and len(refused.value.message) < 300
    assert [tables.count(name) for name in ("gb_datasets", "gb_commits", "gb_quads")] == [0, 0, 0]


async def test_lines_that_can_not_be_read_may_be_left_out(plain: Core) -> None:
    lines = ["<urn:a> <urn:b> <urn:c> .", "not a triple", '<urn:a> "no" <urn:d> .', "<urn:a> <urn:b> <urn:d> ."]
    loaded = await load(plain, "\n".join(lines), strict=False)
    assert (loaded.imported_triplets, loaded.error_count, loaded.lines_read) == (2, 2, 4)
    assert [error.message.partition(":")[0] for error in loaded.errors] == ["line 2", "line 3"]


async def test_without_text_there_are_no_lines_to_leave_out(plain: Core) -> None:
    """A line that could be read stood behind the bytes that are no UTF-8: leaving it out would hide it."""
    for content, wrong in ((b"<urn:a> <urn:b> '\xff' .\n", "line 1: "), (gzip.compress(b"x"), "is compressed")):
        with pytest.raises(InvalidRequest, match=f"^content: {wrong}"):
            await load(plain, content + b"<urn:a> <urn:b> <urn:c> .\n", strict=False)


async def test_a_byte_order_mark_says_nothing(plain: Core) -> None:
    for format in ("ntriples", "turtle"):
        await load(plain, "\ufeff<urn:a> <urn:b> <urn:c> .", format=format)
        assert (await load(plain, "\ufeff", format=format)).triples_read == 0
    assert await triples(plain) == {"<urn:a> <urn:b> <urn:c>"}


@pytest.mark.parametrize("format", ["ntriples", "turtle"])
async def test_triples_stand_in_triples_to_some_depth(plain: Core, format: str) -> None:
    """The parser would crash, and the server with it."""

    def nested(depth: int) -> str:
        return f"<urn:a> <urn:p> {'<<( <urn:a> <urn:p> ' * depth}<urn:o>{' )>>' * depth} .\n"

    loaded = await load(plain, nested(20) + nested(1) * 5_000, format=format)
    assert loaded.imported_triplets == 2
    for depth in (21, 3_000, 100_000):
        with pytest.raises(InvalidRequest, match=r"^content: triples may stand in triples 20 deep") as refused:
            await load(plain, nested(depth), format=format)
        assert refused.value.param == "content"


async def test_a_document_can_not_say_far_more_than_it_has_bytes(plain: Core, tables: Tables) -> None:
    """Neither with a prefix nor with a text that is stated again and again."""
    bombs = (
        f"@prefix p: <urn:{'a' * 100_000}> . " + "".join(f"p:{n} p:b p:c . " for n in range(1_000)),
        f"<urn:a> <urn:b> '{'a' * 100_000}'" + "".join(f" ~<urn:{n}>" for n in range(1_000)) + " .",
    )
    for text in bombs:
        with pytest.raises(InvalidRequest, match=r"^content: says more than 200 times its bytes"):
            await load(plain, text * 3, format="turtle")
    assert tables.count("gb_quads") == 0


@pytest.mark.parametrize("field", ["base_iri", "graph_uri"])
async def test_an_iri_that_is_none_is_named(plain: Core, field: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await load(plain, "<urn:a> <urn:b> <c> .", format="turtle", **{field: "no iri"})
    assert refused.value.param == field


async def test_a_write_that_is_sent_again_is_answered_as_before(plain: Core, tables: Tables) -> None:
    first = await load(plain, TURTLE, format="turtle", idempotency_key="k")
    await load(plain, "<urn:a> <urn:b> <urn:c> .")
    assert await load(plain, TURTLE, format="turtle", idempotency_key="k") == first
    for text, more in (("<urn:x> <urn:y> <urn:z> .", {}), (TURTLE, {"graph_uri": "urn:g"})):
        with pytest.raises(IdempotencyConflict):
            await load(plain, text, format="turtle", idempotency_key="k", **more)
    assert tables.count("gb_commits") == 2
    other = await load(plain, TURTLE, format="turtle", idempotency_key="k", dataset="other")
    assert other.graph_created


async def test_a_name_is_known_for_a_day(plain: Core, tables: Tables) -> None:
    forgetting = plain.forgetting
    assert isinstance(forgetting, SqlForgetting)
    first = await load(plain, "_:a <urn:b> _:c .", idempotency_key="k")
    for hours, kept in ((23, 1), (25, 0)):
        await forgetting.purging.purge_expired(lambda hours=hours: plain.clock() + timedelta(hours=hours))
        assert tables.count("gb_idempotent_writes") == kept
    assert await load(plain, "_:a <urn:b> _:c .", idempotency_key="k") != first


async def test_of_two_that_are_sent_at_once_one_is_written(plain: Core, tables: Tables) -> None:
    both = await asyncio.gather(*(load(plain, "_:a <urn:b> _:c .", idempotency_key="k") for _ in range(2)))
    assert both[0] == both[1]
    assert tables.count("gb_quads") == tables.count("gb_commits") == 1


async def test_loads_and_remembering_take_turns(plain: Core, tables: Tables) -> None:
    """Each has a commit of its own, numbered without a gap."""

    async def loads() -> None:
        for number in range(10):
            await load(plain, f"<urn:a> <urn:b> <urn:{number}> .")

    async def tells() -> None:
        for number in range(10):
            await tell_facts(plain, edge(f"Alice {number}", "knows", f"Bob {number}"))

    await asyncio.gather(loads(), tells(), loads())
    commits = tables.rows("SELECT seq, kind, counts, touched FROM gb_commits ORDER BY seq")
    assert [row["seq"] for row in commits] == list(range(1, 21))
    assert sorted(row["kind"] for row in commits) == ["load"] * 10 + ["remember"] * 10
    assert all(row["touched"] is not None and row["counts"] for row in commits)


async def test_a_load_of_many_triples_is_one_commit(plain: Core) -> None:
    lines = "".join(f'<urn:a> <urn:b> "{n}" .\n<urn:a> <urn:b> <urn:{n}> .\n' for n in range(12_000))
    loaded = await load(plain, lines)
    assert (loaded.imported_triplets, loaded.committed_commit_seq, loaded.lines_read) == (24_000, 1, 24_000)
    assert len(await triples(plain)) == 24_000


async def test_a_kept_answer_ends_with_the_graph(plain: Core, tables: Tables) -> None:
    """A name that is free again is no answer for what was written under it."""
    await load(plain, TURTLE, format="turtle", idempotency_key="k")
    gone = await forget(plain, ForgetRequest(user_id="u1", scope="dataset"))
    assert gone.counts["triples"] == 5
    again = await load(plain, TURTLE, format="turtle", idempotency_key="k")
    assert again.graph_created and again.imported_triplets == 5
    everything = await forget(plain, ForgetRequest(user_id="u1", scope="user", purge=True))
    assert everything.purged
    assert [tables.count(name) for name in ("gb_quads", "gb_idempotent_writes", "gb_commits")] == [0, 0, 0]


async def test_a_load_that_is_given_up_ends_where_it_is_and_stores_nothing(plain: Core, tables: Tables) -> None:
    document = Endless()
    request = ImportRdfRequest(user_id="u1", content=Upload(cast("Any", document), ""))
    loading = asyncio.create_task(import_rdf(plain, request))
    assert await asyncio.to_thread(document.is_read.wait, 30)
    loading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loading
    async with asyncio.timeout(30):  # the one thread that writes is free again
        await load(plain, "<http://a.test/1> <http://a.test/is> 'there' .", format="turtle")
    assert await triples(plain) == {'<http://a.test/1> <http://a.test/is> "there"'}
