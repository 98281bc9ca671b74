"""INSERT DATA and DELETE DATA: triples added and taken away, all of a request in one commit."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.core import Core
from core.errors import IdempotencyConflict, InvalidRequest
from core.rdf.update import data_operations
from tests.conftest import Tables
from tests.rdf.loading import change, head, load, triples

pytestmark = pytest.mark.anyio

X = "PREFIX x: <urn:x:>"


async def test_one_request_is_one_commit(plain: Core) -> None:
    done = await change(plain, f"{X} INSERT DATA {{ x:a x:p x:b ; x:says 'hi' . }}")
    assert (done.commit_seq, done.added, done.removed) == (1, 2, 0)
    several = f"""{X}
        INSERT DATA {{ x:c a x:T . GRAPH x:g {{ x:c x:p 1 }} . x:d x:p x:e }} ;
        PREFIX y: <urn:x:>
        DELETE DATA {{ y:a x:says 'hi' . x:never x:there x:before }} ;"""
    done = await change(plain, several)
    assert (done.commit_seq, done.added, done.removed) == (2, 3, 1)
    assert await triples(plain) == {
        "<urn:x:a> <urn:x:p> <urn:x:b>",
        "<urn:x:c> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <urn:x:T>",
        '<urn:x:c> <urn:x:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> <urn:x:g>',
        "<urn:x:d> <urn:x:p> <urn:x:e>",
    }
    assert '<urn:x:a> <urn:x:says> "hi"' in await triples(plain, seq=1)


async def test_the_last_word_on_a_triple_counts(plain: Core, tables: Tables) -> None:
    """What is added and taken away again leaves nothing, and makes no commit."""
    insert, delete = (f"{form} DATA {{ <urn:a> <urn:b> <urn:c> }}" for form in ("INSERT", "DELETE"))
    assert (await change(plain, f"{insert} ; {delete}")).commit_seq is None
    assert await head(plain) == tables.count("gb_quads") == 0
    assert (await change(plain, f"{delete} ; {insert}")).commit_seq == 1
    assert (await change(plain, f"{delete} ; {insert}")).commit_seq is None
    assert (await change(plain, delete)).removed == 1
    assert (await change(plain, insert)).commit_seq == 3
    assert [len(await triples(plain, seq=seq)) for seq in (1, 2, 3)] == [1, 0, 1]


async def test_braces_and_keywords_in_strings_iris_and_comments_say_nothing(plain: Core) -> None:
    text = """# DELETE DATA { <urn:a> <urn:b> <urn:c> }
        insert data { # } ; LOAD <http://127.0.0.1:9/>
          <urn:a}b#c> <urn:p> "} ; CLEAR ALL ; GRAPH {", '''a ' } \\''' b''', "\\"}" .
          graph <urn:graph> { <urn:s> <urn:graph> "GRAPH" }
        }"""
    with pytest.raises(InvalidRequest, match=r"^update: line 3: "):
        await change(plain, text)  # an IRI holds no brace
    await change(plain, text.replace("a}b#c", "ab#c"))
    assert await triples(plain) == {
        '<urn:ab#c> <urn:p> "} ; CLEAR ALL ; GRAPH {"',
        "<urn:ab#c> <urn:p> \"a ' } ''' b\"",
        '<urn:ab#c> <urn:p> "\\"}"',
        '<urn:s> <urn:graph> "GRAPH" <urn:graph>',
    }


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "holds no INSERT DATA"),
        (X, "only INSERT DATA and DELETE DATA"),
        ("INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }", "line 1: only INSERT DATA and DELETE DATA"),
        ("DELETE WHERE { ?s ?p ?o }", "line 1: only INSERT DATA and DELETE DATA"),
        ("WITH <urn:g> DELETE { ?s ?p 1 } WHERE { ?s ?p 1 }", "line 1: only INSERT DATA"),
        ("LOAD <http://127.0.0.1:9/>", "line 1: only INSERT DATA"),
        ("CLEAR ALL", "line 1: only INSERT DATA"),
        ("SELECT * { ?s ?p ?o }", "line 1: only INSERT DATA"),
        ("INSERT DATA { <urn:a> <urn:b> 1 } ;\nDROP ALL", "line 2: only INSERT DATA"),
        ("INSERT DATA { <urn:a> <urn:b> 1 } INSERT DATA { <urn:a> <urn:b> 2 }", "must have a ; between"),
        ("INSERT DATA { <urn:a> <urn:b> 1 }}", "must have a ; between"),
        ("INSERT DATA { <urn:a> <urn:b> 1", "ends inside of a { that nothing closes"),
        ("INSERT DATA { GRAPH <urn:g> { <urn:a> <urn:b> 1 }", "ends inside of a { that nothing closes"),
        ("INSERT DATA", "ends in the middle"),
        ("INSERT DATA { ?s <urn:b> 1 }", "line 1: "),
        ("INSERT DATA {\n<urn:a>\n<urn:b> x:c }", "line 3: "),
        ("INSERT DATA { GRAPH ?g { <urn:a> <urn:b> 1 } }", "line 1: "),
        ("DELETE DATA { _:a <urn:b> 1 }", "a blank node in DELETE DATA names nothing"),
    ],
)
async def test_everything_else_is_refused_and_changes_nothing(
    plain: Core, tables: Tables, text: str, wrong: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await change(plain, text)
    assert refused.value.param == "update" and refused.value.message.startswith("update: ")
    assert wrong in refused.value.message
    assert [tables.count(name) for name in ("gb_datasets", "gb_quads")] == [0, 0]


async def test_an_update_costs_what_its_length_does(plain: Core) -> None:
    """However many lines, prefixes and operations it has."""
    lines = "DELETE DATA { };\n" * 10_000
    began = time.perf_counter()
    assert (await change(plain, f"{lines}# the last\n")).commit_seq is None
    with pytest.raises(InvalidRequest, match=r"^update: line 10001: at most 10,000 operations"):
        await change(plain, f"{lines}INSERT DATA {{ }}")
    with pytest.raises(InvalidRequest, match=r"^update: line 1: at most 20,000 characters of PREFIX and BASE lines"):
        await change(plain, f"PREFIX x: <urn:{'x' * 20_000}> {lines}")
    with pytest.raises(InvalidRequest, match=r"^update: ends inside"):
        await change(plain, "INSERT DATA {" + '\\"""\n' * 100_000)
    assert time.perf_counter() - began < 10


async def test_lines_are_those_of_the_update(plain: Core) -> None:
    text = "PREFIX x: <urn:x:>\n\nINSERT DATA { x:a x:b 1 } ;\n\nINSERT DATA {\n x:a x:b 2 .\n x:a y:b 3 }"
    with pytest.raises(InvalidRequest, match=r"^update: line 7: "):
        await change(plain, text)


async def test_blank_nodes_of_an_operation_are_its_own(plain: Core) -> None:
    both = "INSERT DATA { _:a <urn:p> _:a } ; INSERT DATA { _:a <urn:p> _:a }"
    await change(plain, both)
    await change(plain, both)
    assert len({line.split()[0] for line in await triples(plain)}) == 4


async def test_loaded_triples_can_be_taken_away(plain: Core) -> None:
    await load(plain, "<urn:a> <urn:b> <urn:c> .\n<urn:a> <urn:b> <urn:d> .")
    assert (await change(plain, "DELETE DATA { <urn:a> <urn:b> <urn:c> }")).removed == 1
    assert await triples(plain) == {"<urn:a> <urn:b> <urn:d>"}


async def test_an_update_that_is_sent_again_is_answered_as_before(plain: Core) -> None:
    text = "INSERT DATA { _:a <urn:b> <urn:c> }"
    first = await change(plain, text, idempotency_key="k")
    assert await change(plain, text, idempotency_key="k") == first
    assert await head(plain) == 1
    with pytest.raises(IdempotencyConflict):
        await change(plain, text + " ;", idempotency_key="k")
    nothing = "DELETE DATA { <urn:a> <urn:b> <urn:c> }"
    assert (await change(plain, nothing, idempotency_key="n")).commit_seq is None
    await change(plain, "INSERT DATA { <urn:a> <urn:b> <urn:c> }")
    assert (await change(plain, nothing, idempotency_key="n")).removed == 0, "it was answered before"


_PIECES = st.sampled_from(
    [
        "INSERT",
        "DELETE",
        "DATA",
        "{",
        "}",
        ";",
        "GRAPH",
        "<urn:a>",
        "x:b",
        '"',
        "'''",
        "#",
        "\n",
        ".",
        "\\",
        "PREFIX",
        ":",
    ]
)


@given(st.lists(_PIECES | st.text(max_size=3), max_size=30).map(" ".join))
def test_any_text_is_cut_or_refused(text: str) -> None:
    try:
        operations = data_operations(text)
    except InvalidRequest as refused:
        assert refused.param == "update"
    else:
        assert {operation.form for operation in operations} <= {"insert", "delete"}
