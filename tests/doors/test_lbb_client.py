"""The public Python client of Little Big Brain against this server: every call that its users make, and every answer
against the models that it was generated with."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Generator, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from lbb import AsyncLbbClient, LbbClient, LbbError, QueryAskResult, models

from tests.doors.bakeries import (
    BROKEN,
    COUNTS,
    HOW_MANY,
    KIND,
    MISSING,
    ON_A_DATE,
    PER_BAKERY,
    PREFIXES,
    PRICES,
    SECOND,
    TIMELINE,
    TURTLE,
    record,
    scripts,
)
from tests.processes import served
from tests.requirements import requirement
from tests.scripted_messages import Scripted
from tests.wire import Wire

FIRST_COUNTS = {"North Bakery": "2", "South Bakery GmbH": "1"}
COUNTS_NOW = {"North Bakery": "2", "South Bakery GmbH": "2"}


@pytest.fixture(scope="module")
def model() -> Scripted:
    return Scripted(*scripts())


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory, model: Scripted) -> Generator[str]:
    """A server whose operator chose the model that answers."""
    with Wire() as wire:
        wire.always(model)
        said = {"GLIGABAO_LLM": "anthropic", "ANTHROPIC_BASE_URL": wire.url, "ANTHROPIC_API_KEY": "sk-test"}
        with served(tmp_path_factory.mktemp("lbb"), **said) as (address, _):
            yield address


@pytest.fixture(scope="module")
def client(url: str) -> Generator[LbbClient]:
    """A client of the graph of the bakeries, in which there are two commits."""
    with connected(url, "bakeries") as client:
        loaded = client.graph("bakeries").facts.import_rdf(TURTLE, format="turtle")
        assert loaded["committed_commit_seq"] == 1
        assert client.query.update(SECOND) is None
        yield client


@pytest.fixture
async def later(url: str, client: LbbClient) -> AsyncGenerator[AsyncLbbClient]:
    """The asynchronous client of the same graph."""
    async with AsyncLbbClient(url, graph="bakeries", max_retries=0) as later:
        yield later


def connected(url: str, graph: str) -> LbbClient:
    return LbbClient(url, graph=graph, max_retries=0, timeout=60)


def counted(rows: Iterable[dict[str, Any]]) -> dict[str, str]:
    return {row["label"]: row["n"] for row in rows}


def refused(error: pytest.ExceptionInfo[LbbError]) -> tuple[int, str | None, str | None]:
    return error.value.status_code, error.value.code, error.value.param


# Loading, and what graphs there are -----------------------------------------------------------------------------------


def test_a_graph_is_made_loaded_listed_and_deleted(url: str) -> None:
    with connected(url, "crates") as client:
        created = client.create_graph()
        assert (created.graph.graph_id, created.commit_seq) == ("crates", 0)
        facts = client.graph("crates").facts
        first = facts.import_rdf(TURTLE, format="turtle", idempotency_key="once")
        report = models.GraphRdfImportResponse.model_validate(first)
        assert (report.error_count, first["committed_commit_seq"]) == (0, 1)
        assert facts.import_rdf(TURTLE, format="turtle", idempotency_key="once") == first
        with pytest.raises(LbbError) as other:
            facts.import_rdf("", format="turtle", idempotency_key="once")
        assert refused(other)[:2] == (409, "idempotency_conflict")
        with pytest.raises(LbbError) as broken:
            facts.import_rdf("r:oops a .", format="turtle")
        assert broken.value.status_code == 400
        assert client.graph("crates").wait_for_published(1, timeout=5).published_seq == 1
        models.GraphSummaryResponse.model_validate(client.summary())
        assert client.metadata()["snapshot"]["commit_seq"] == 1
        assert "crates" in [graph["graph_id"] for graph in client.list_graphs()["data"]]
        assert client.delete_graph(confirm="crates").ok
        assert "crates" not in [graph["graph_id"] for graph in client.list_graphs()["data"]]


@requirement("ask.loads-turtle")
def test_turtle_is_loaded_by_its_content_type_alone(url: str) -> None:
    """As curl sends it, and a model finds its way in it."""
    sent = httpx.post(
        f"{url}/v1/graph/import/rdf", params={"graph": "plain"}, content=TURTLE, headers={"content-type": "text/turtle"}
    )
    assert sent.status_code == 200, sent.text
    with connected(url, "plain") as client:
        assert counted(client.query.ask(HOW_MANY).rows) == FIRST_COUNTS


# Queries, now and at an earlier commit --------------------------------------------------------------------------------


@requirement("ask.consistency")
def test_queries_read_the_newest_commit_or_an_earlier_one(client: LbbClient) -> None:
    for consistency in (None, "strong", "eventual"):
        assert counted(client.query.sparql(COUNTS, consistency=consistency).rows()) == COUNTS_NOW
    assert counted(client.query.sparql(COUNTS, as_of_commit_seq=1).rows()) == FIRST_COUNTS
    assert counted(client.query.sparql(COUNTS, min_indexed_seq=2).rows()) == COUNTS_NOW
    with pytest.raises(LbbError) as pending:
        client.query.sparql(COUNTS, min_indexed_seq=3)
    assert (*refused(pending)[:2], pending.value.retryable) == (429, "read_your_writes_pending", True)
    page = client.query.sparql(PRICES, limit=2, offset=1)
    assert [row["price"] for row in page] == ["3", "4"]
    models.RowPage.model_validate(page.row_page)
    assert client.query.sparql(f"{PREFIXES}ASK {{ r:rye f:madeBy r:north }}").boolean is True
    with pytest.raises(LbbError) as construct:
        client.query.sparql("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
    assert refused(construct) == (400, "invalid_request", "query")


@requirement("tools.reads-without-a-model")
def test_the_tools_for_other_agents_call_no_model(client: LbbClient, model: Scripted) -> None:
    before = len(model.asked)
    names = client.query.names("What does Soth Bakery make?", min_commit_seq=2)
    models.QueryNamesResponse.model_validate(names)
    assert (names["candidates"][0]["iri"], names["candidates"][0]["by"]) == (record("south"), "fuzzy")

    described = client.query.describe(question="Which bread does a bakery make?")
    models.QueryDescribeResponse.model_validate(described)
    (bread,) = (one for one in described["classes"] if one["iri"] == f"{KIND}Bread")
    assert bread["instances"] == 4

    today = datetime.now(UTC).date().isoformat()
    found = client.query.commit_at(date=today)
    models.GraphCommitAtResponse.model_validate(found)
    assert found["as_of_commit_seq"] == 2

    compared = client.query.compare(PER_BAKERY, before={"as_of_commit_seq": 1}, key=["bakery"])
    models.QueryCompareResponse.model_validate(compared)
    assert compared["totals"] == {"added": 0, "removed": 0, "changed": 1, "unchanged": 1}
    (change,) = compared["changed"]
    assert [change[side][0]["n"]["value"] for side in ("before", "after")] == ["1", "2"]
    assert len(model.asked) == before


@requirement("profile.clients")
def test_a_profile_is_read_and_written(url: str) -> None:
    with connected(url, "noted") as client:
        client.create_graph()
        read = models.QueryRewriteProfile.model_validate(client.query.rewrite_profile())
        assert (read.version, read.notes, read.examples) == (0, "", [])
        example = {"question": "What costs most?", "sparql": PRICES}
        assert client.query.set_rewrite_profile(notes="Prices are in euros.", dry_run=True)["dry_run"] is True
        stored = client.query.set_rewrite_profile(notes="In euros.", examples=[example], expected_version=0)
        assert stored["version"] == 1
        with pytest.raises(LbbError) as stale:
            client.query.set_rewrite_profile(notes="late", expected_version=0)
        assert refused(stale)[:2] == (409, "conflict")
        with pytest.raises(LbbError) as over:
            client.query.set_rewrite_profile(notes="n" * 8001)
        assert refused(over) == (400, "invalid_rewrite_profile", "notes")
        with pytest.raises(LbbError) as many:
            client.query.set_rewrite_profile(examples=[example] * 21)
        assert refused(many) == (400, "invalid_rewrite_profile", "examples")
        assert client.query.rewrite_profile()["notes"] == "In euros."


# Questions ------------------------------------------------------------------------------------------------------------


@requirement("ask.answers-on-the-server", "ask.no-model-to-choose", "ask.python-client", "ask.result-field")
def test_a_question_is_answered_with_the_records_and_the_rows(client: LbbClient) -> None:
    result = client.query.ask(HOW_MANY, context="Bread is made by bakeries.")
    models.QueryRewriteResponse.model_validate(result.response)
    assert result.answer == "North Bakery and South Bakery GmbH make two each."
    assert result.citations == [record("north"), record("south")]
    assert counted(result.rows) == COUNTS_NOW
    assert result.vars == ["bakery", "label", "n"]
    assert result.chart == {"kind": "bar", "x": "label", "y": "n"}
    assert result.query is not None
    assert "PREFIX rdfs:" in result.query["sparql"]
    assert (result.route["kind"], result.route["by"]) == ("aggregate", "router")
    assert [(step["n"], step["tool"], step["rows"]) for step in result.steps] == [(1, "sparql", 2)]
    assert (result.rationale, result.error, result.history) == ("The rows hold it.", None, None)
    trace = models.EvalTrace.model_validate(client.evals.trace(result.trace_id or ""))
    assert (trace.request, trace.results.item_count) == (HOW_MANY, 2)


@pytest.mark.anyio
@requirement("ask.python-client", "stream.python-client")
async def test_the_asynchronous_client_gets_the_same(client: LbbClient, later: AsyncLbbClient) -> None:
    plain = client.query.ask(HOW_MANY)
    result = await later.query.ask(HOW_MANY)
    assert (result.answer, result.citations, result.rows) == (plain.answer, plain.citations, plain.rows)
    events = [event async for event in later.query.ask_stream(HOW_MANY)]
    assert QueryAskResult.from_response(events[-1].data).rows == plain.rows


def test_a_question_about_the_past_says_which_commit_was_read(client: LbbClient) -> None:
    result = client.query.ask(ON_A_DATE, timeline=TIMELINE)
    models.QueryRewriteResponse.model_validate(result.response)
    assert counted(result.rows) == FIRST_COUNTS
    assert result.history is not None
    read = {"compare": False, "as_of_commit_seq": 1, "resolved_by": "timeline", "label": "opening day"}
    assert result.history.items() >= read.items()
    assert (result.route["kind"], result.route["by"]) == ("history", "rewriter")
    assert counted(client.query.ask(HOW_MANY, as_of_commit_seq=1).rows) == FIRST_COUNTS


def test_what_the_graph_lacks_is_said(client: LbbClient) -> None:
    result = client.query.ask(MISSING)
    assert result.answer == "The graph holds no flours."
    assert (result.route["kind"], result.query, result.rows) == ("unanswerable", None, [])


def test_route_alone_and_a_fixed_route(client: LbbClient, model: Scripted) -> None:
    before = len(model.asked)
    route = client.query.ask(HOW_MANY, mode="route")
    models.QueryRewriteResponse.model_validate(route.response)
    assert (route.route["kind"], route.answer, route.query, route.response["attempts"]) == ("aggregate", None, None, 0)
    assert len(model.asked) == before
    fixed = client.query.ask(HOW_MANY, route="lookup")
    assert (fixed.route["kind"], fixed.route["by"], fixed.route["confidence"]) == ("lookup", "caller", 1)
    assert {call["role"] for call in fixed.response["models"]} == {"rewriter"}


@requirement("stream.grounding-event", "stream.route-event", "stream.step-event")
@requirement("stream.answer-event", "stream.done-event", "ask.typescript-client")
def test_each_step_is_told_as_it_happens(client: LbbClient) -> None:
    events = list(client.query.ask_stream(ON_A_DATE, timeline=TIMELINE))
    for event in events:
        event.model()
    names = [event.event for event in events]
    assert names == ["grounding", "route", "step", "step", "route", "answer", "done"], "the model chose another route"
    told = {event.event: event.data for event in events}
    assert told["grounding"].keys() == {"cached", "age_ms", "classes"}
    assert told["step"]["input"].startswith("SELECT ?bakery")
    assert "\n" not in told["step"]["input"]
    assert told["answer"]["text"] == told["done"]["answer"]["text"]
    plain = client.query.ask(ON_A_DATE, timeline=TIMELINE).response
    assert told["done"].keys() == plain.keys()
    assert json.loads(told["done"]["result"]["results"]) == json.loads(plain["result"]["results"])
    assert [event.event for event in client.query.ask_stream(HOW_MANY, mode="route")] == ["grounding", "route", "done"]


@requirement("ask.typescript-client")
def test_a_page_in_a_browser_reads_the_stream_line_by_line(url: str, client: LbbClient) -> None:
    """The loop of the documents: split at empty lines, one line that begins with event, one with data."""
    assert client
    headers = {"accept": "text/event-stream"}
    body = httpx.post(f"{url}/v1/query/ask?graph=bakeries", json={"question": HOW_MANY}, headers=headers, timeout=60)
    *blocks, rest = body.text.split("\n\n")
    assert rest == ""
    shown = [block for block in blocks if not block.startswith(":")]
    names = [re.match(r"event: (.*)\ndata: (.*)$", block) for block in shown]
    assert [name and name[1] for name in names] == ["grounding", "route", "step", "answer", "done"]


@requirement("ask.no-model", "ask.error-envelope", "stream.error-event")
def test_a_model_that_fails_is_an_error_that_tells_nothing_of_its_provider(client: LbbClient) -> None:
    with pytest.raises(LbbError) as failed:
        client.query.ask(BROKEN)
    assert refused(failed)[:2] == (503, "rewrite_model_unavailable")
    assert failed.value.retryable is False
    assert failed.value.request_id
    assert "on purpose" not in failed.value.body
    with pytest.raises(LbbError) as streamed:
        list(client.query.ask_stream(BROKEN))
    assert refused(streamed)[:2] == (503, "rewrite_model_unavailable")


@requirement("ask.question", "ask.context", "ask.limit", "ask.today", "ask.anchor-limit", "ask.timeline-limit")
@requirement("ask.field-out-of-limits", "ask.removed-fields", "ask.unknown-field")
def test_what_a_question_may_not_hold_is_named(client: LbbClient) -> None:
    def sent(**fields: Any) -> tuple[int, str | None, str | None]:
        with pytest.raises(LbbError) as wrong:
            client.raw_request("POST", "/v1/query/ask", body={"question": "q", **fields})
        return refused(wrong)

    point = {"date": "2026-01-01", "as_of_commit_seq": 1}
    outside: dict[str, Any] = {
        "question": "q" * 4001,
        "context": "c" * 8001,
        "limit": 1001,
        "today": "tomorrow",
        "anchor": ["https://a.test/x"] * 11,
        "timeline": [point] * 201,
        "route": "guess",
        "run": True,
        "previous": [],
        "mode": "rewrite",
    }
    for name, value in outside.items():
        assert sent(**{name: value}) == (400, "invalid_ask_request", name)
    assert sent(limit=0) == (400, "invalid_ask_request", "limit")
    assert sent(question="") == (400, "invalid_ask_request", "question")
    assert sent(colour="red") == (400, "invalid_request", "colour")
    with pytest.raises(LbbError) as streamed:
        list(client.query.ask_stream("q", limit=0))
    assert refused(streamed) == (400, "invalid_ask_request", "limit")


# Evals ----------------------------------------------------------------------------------------------------------------


@requirement("evals.clients")
def test_an_answer_becomes_a_golden_that_other_answers_are_checked_by(client: LbbClient) -> None:
    trace_id = client.query.ask(HOW_MANY).trace_id
    assert trace_id is not None
    labelled = models.EvalLabelResponse.model_validate(client.evals.label(trace_id, valid=True, by="ann"))
    assert labelled.golden is not None
    golden = labelled.golden.id
    assert golden in [one.id for one in models.GoldenSuite.model_validate(client.evals.goldens()).goldens]

    answers: list[Mapping[str, Any]] = [{"golden": golden, "sparql": COUNTS, "reply": {"text": "Two each."}}]
    run = models.EvalRunResponse.model_validate(client.evals.run_answers(answers, runner="bakery-agent")).results
    assert (run.runner, run.passed, run.total) == ("bakery-agent", 1, 1)
    listed = models.EvalResultsListResponse.model_validate(client.evals.results(runner="bakery-agent"))
    assert [result.runner for result in listed.results] == ["bakery-agent"]
    again = models.EvalRunResponse.model_validate(client.evals.run()).results
    assert again.verdicts[golden].verdict.value == "pass"
    models.EvalSummaryResponse.model_validate(client.evals.summary())
    models.EvalTraceListResponse.model_validate(client.evals.traces(limit=5))
    assert client.evals.delete_golden(golden)["deleted"] is True
