"""sparql: rows of the graph as SPARQL asks for them, on the real adapters and validated as the public client does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lbb import models

from core.core import Core
from core.errors import InvalidRequest, NotYetVisible, UnknownDataset
from core.sparql.sparql import SparqlRequest, run_sparql, sparql
from tests.forgetting import forget_it
from tests.requirements import requirement
from tests.sparql.catalog import FIRST, PREFIXES, SECOND, load, update

pytestmark = pytest.mark.anyio

LEVELS = PREFIXES + "SELECT ?s ?level WHERE { ?s a k:Service ; field:level ?level } ORDER BY ?s"
OUTAGES = PREFIXES + "SELECT ?o WHERE { ?o a k:Outage }"


async def answered(core: Core, query: str, **fields: Any) -> models.SparqlTextResponse:
    """The response, as the client's models read it."""
    response = await sparql(core, SparqlRequest(user_id="u1", query=query, **fields))
    return models.SparqlTextResponse.model_validate(response.body())


def values(response: models.SparqlTextResponse, name: str) -> list[str]:
    return [row[name]["value"] for row in json.loads(response.results)["results"]["bindings"]]


async def test_rows_come_with_their_page_and_the_commit_that_was_read(plain: Core) -> None:
    await load(plain, FIRST)
    first = await answered(plain, LEVELS, limit=3)
    assert values(first, "s") == [f"https://catalog.test/record/{name}" for name in ("mailer", "refunds", "stock")]
    page = first.row_page
    assert (page.returned, page.total, page.limit, page.offset, page.has_more, page.next_offset) == (
        3,
        4,
        3,
        0,
        True,
        3,
    )
    assert first.snapshot is not None and first.snapshot.commit_seq == 1
    rest = await answered(plain, LEVELS, limit=3, offset=3)
    assert values(rest, "s") == ["https://catalog.test/record/tills"]
    assert (rest.row_page.has_more, rest.row_page.next_offset) == (False, None)
    assert (await answered(plain, LEVELS, limit=0)).row_page.total == 4


async def test_an_ask_answers_yes_or_no_without_rows(plain: Core) -> None:
    await load(plain, FIRST)
    there = await answered(plain, PREFIXES + "ASK { r:tills a k:Service }")
    assert json.loads(there.results) == {"head": {}, "boolean": True}
    assert there.row_page.returned == 0


async def test_a_past_commit_is_read_as_it_was_and_one_to_come_is_refused(plain: Core) -> None:
    await load(plain, FIRST)
    await update(plain, SECOND)
    assert len(values(await answered(plain, LEVELS), "s")) == 5
    past = await answered(plain, LEVELS, as_of_commit_seq=1)
    assert values(past, "level") == ["3", "2", "2", "1"]
    assert past.snapshot is not None and past.snapshot.as_of_commit_seq is not None
    assert values(await answered(plain, LEVELS, as_of_commit_seq=0), "s") == []
    with pytest.raises(InvalidRequest) as refused:
        await answered(plain, LEVELS, as_of_commit_seq=3)
    assert refused.value.param == "as_of_commit_seq"
    with pytest.raises(NotYetVisible):
        await answered(plain, LEVELS, min_indexed_seq=3)
    assert (await answered(plain, LEVELS, min_indexed_seq=2)).row_page.total == 5


@requirement("ask.adds-prefixes")
async def test_prefixes_that_the_graph_knows_need_no_line(plain: Core) -> None:
    dataset = await load(plain, FIRST)
    ran = await run_sparql(plain, dataset, "SELECT ?l { ?s rdfs:label ?l ; field:level 1 }", limit=10)
    assert [row["l"].value for row in ran.solutions.rows] == ["till-gateway"]
    assert ran.checked.text.startswith("PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\nPREFIX field: <")
    with pytest.raises(InvalidRequest, match="no PREFIX line declares nowhere:"):
        await run_sparql(plain, dataset, "SELECT ?l { ?s nowhere:label ?l }", limit=10)


async def test_entailment_follows_subclasses_and_owl_is_refused(plain: Core) -> None:
    await load(plain, FIRST)
    assert (await answered(plain, OUTAGES)).row_page.total == 1
    assert (await answered(plain, OUTAGES, entailment="subclass")).row_page.total == 2
    assert (await answered(plain, OUTAGES, entailment="rdfs")).row_page.total == 2
    with pytest.raises(InvalidRequest, match="entailment: owl is not served"):
        await answered(plain, OUTAGES, entailment="owl")
    with pytest.raises(InvalidRequest, match="reason: is not served"):
        await answered(plain, OUTAGES, reason=True)


@pytest.mark.parametrize(
    "query",
    ["CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "DESCRIBE <urn:a>", "SELECT ?s {", "DELETE WHERE { ?s ?p ?o }"],
)
async def test_what_is_no_select_and_no_ask_is_refused(plain: Core, query: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await answered(plain, query)
    assert refused.value.param == "query"


async def test_pages_by_cursor_stay_at_their_commit(plain: Core) -> None:
    await load(plain, FIRST)
    query = LEVELS + " LIMIT 3"
    first = await answered(plain, query, cursor="")
    assert (len(values(first, "s")), first.row_page.has_more) == (3, True)
    await update(plain, SECOND)
    second = await answered(plain, query, cursor=first.next_cursor)
    assert values(first, "s") + values(second, "s") == values(await answered(plain, LEVELS, as_of_commit_seq=1), "s")
    assert second.next_cursor is None
    full = await answered(plain, LEVELS + " LIMIT 4", cursor="", as_of_commit_seq=1)
    empty = await answered(plain, LEVELS + " LIMIT 4", cursor=full.next_cursor, as_of_commit_seq=1)
    assert (values(empty, "s"), empty.next_cursor) == ([], None)


@pytest.mark.parametrize(
    ("query", "fields", "param"),
    [
        (LEVELS, {}, "query"),
        (LEVELS + " LIMIT 3 OFFSET 1", {}, "query"),
        (LEVELS + " LIMIT 10001", {}, "query"),
        ("SELECT ?s { ?s ?p ?o } LIMIT 3", {}, "query"),
        (LEVELS + " LIMIT 3", {"limit": 2}, "cursor"),
        (LEVELS + " LIMIT 3", {"offset": 2}, "cursor"),
        (LEVELS + " LIMIT 3", {"cursor": "abc"}, "cursor"),
    ],
)
async def test_a_cursor_needs_an_order_and_a_limit_of_the_query_itself(
    plain: Core, query: str, fields: dict[str, Any], param: str
) -> None:
    await load(plain, FIRST)
    with pytest.raises(InvalidRequest) as refused:
        await answered(plain, query, **{"cursor": "", **fields})
    assert refused.value.param == param


async def test_a_cursor_ends_with_its_dataset(plain: Core) -> None:
    three = "<urn:a> <urn:n> 1 . <urn:b> <urn:n> 2 . <urn:c> <urn:n> 3 ."
    query = "SELECT ?s { ?s <urn:n> ?n } ORDER BY ?n LIMIT 2"
    await load(plain, three)
    first = await answered(plain, query, cursor="")
    await forget_it(plain, "dataset")
    await load(plain, three)
    with pytest.raises(InvalidRequest, match="cursor: belongs to another request"):
        await answered(plain, query, cursor=first.next_cursor)


async def test_main_of_a_user_who_told_nothing_is_an_empty_graph(plain: Core) -> None:
    counted = await answered(plain, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
    assert values(counted, "n") == ["0"]
    with pytest.raises(UnknownDataset):
        await answered(plain, "ASK {}", dataset="other")


@requirement("evals.request-records-a-trace")
async def test_the_users_words_make_a_trace_and_without_them_there_is_none(plain: Core) -> None:
    await load(plain, FIRST)
    route = {"kind": "lookup", "confidence": 0.9, "by": "router"}
    traced = await answered(plain, LEVELS, request="Which services are there?", route=route)
    assert traced.trace_id
    assert (await answered(plain, LEVELS)).trace_id is None
