"""The tool ask: each mode is an operation of its own, rows are plain values, and steps are told as they happen."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client

from core import fitting
from core.config import Config
from core.events import Event
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.mcp_door.fitted_graph import fitted_graph
from gligabao_mcp.mcp_door.server import create_mcp_server
from gligabao_mcp.wiring import open_core
from tests.bearer import made
from tests.doors.bakeries import BROKEN, COUNTS, HOW_MANY, KIND, PER_BAKERY, PRICES, SECOND, TURTLE, record, scripts
from tests.doors.conftest import http_client
from tests.doors.matrix import Tools, Way
from tests.requirements import requirement
from tests.scripted_messages import Scripted
from tests.wire import Wire

pytestmark = pytest.mark.anyio

BOTH = [{"label": "North Bakery", "n": "2"}, {"label": "South Bakery GmbH", "n": "2"}]


@dataclass(frozen=True)
class Told:
    """core.events.Sink."""

    events: list[Event]

    def take(self, event: Event) -> None:
        self.events.append(event)


@pytest.fixture
def model(wire: Wire) -> Scripted:
    model = Scripted(*scripts())
    wire.always(model)
    return model


@pytest.fixture
def settings(wire: Wire, tmp_path: Path) -> Config:
    """Settings of a memory that asks the scripted model."""
    key = {"anthropic_api_key": "sk-test", "anthropic_base_url": wire.url}
    return Config.model_validate({"home": tmp_path, "llm": "anthropic", "tools": "full", **key})


@pytest.fixture
async def loaded(handle: CoreHandle, settings: Config, model: Scripted) -> AsyncGenerator[CoreHandle]:
    """The graph of the bakeries, with two commits, for the user of the settings."""
    async with http_client(CoreHandle(lambda: open_core(settings)), settings) as rest:
        await rest.post("/v1/graph/import/rdf", content=TURTLE, headers={"content-type": "text/turtle"})
        await rest.post("/update", content=SECOND)
    yield handle


@pytest.fixture(params=["legacy", "auto"])
async def tools(request: pytest.FixtureRequest, loaded: CoreHandle, settings: Config) -> AsyncGenerator[Tools]:
    mode: Literal["legacy", "auto"] = request.param
    async with Client(create_mcp_server(loaded, settings), mode=mode) as client:
        yield Tools(Way(mode, "memory"), client, user_id=settings.user_id)


@requirement("ask.mcp")
async def test_a_question_is_answered_with_the_query_and_its_rows(tools: Tools) -> None:
    body = await tools.done("ask", question=HOW_MANY, context="Bread.", limit=10, anchor=[record("north")])
    assert body["answer"]["text"] == "North Bakery and South Bakery GmbH make two each."
    assert body["answer"]["citations"] == [record("north"), record("south")]
    assert body["answer"]["chart"] == {"kind": "bar", "x": "label", "y": "n"}
    assert [{name: row[name] for name in ("label", "n")} for row in body["rows"]] == BOTH
    assert "GROUP BY ?bakery" in body["query"]["sparql"]
    assert body["route"]["kind"] == "aggregate"
    assert body["anchors"][0]["found"] is True
    assert body["trace_id"]
    assert not body.keys() & {"steps", "models", "timings", "result"}, "what people look at is on REST"


@requirement("ask.mcp")
async def test_the_arguments_of_a_question_are_those_of_rest(tools: Tools, model: Scripted) -> None:
    point = {"date": "2026-06-10", "as_of_commit_seq": 1}
    fixed = await tools.done("ask", question=HOW_MANY, route="lookup", timeline=[point], as_of_commit_seq="1")
    assert (fixed["route"]["by"], fixed["rows"][1]["n"]) == ("caller", "1")
    assert (await tools.refused("ask", question="q" * 4001)).startswith("question: ")
    assert (await tools.refused("ask", mode="question")) == "question: is required"
    assert (await tools.refused("ask", question="q", colour="red")).startswith("unknown field colour; the fields are ")
    told = await tools.refused("ask", mode="names", question="q")
    assert told == "text: is required; unknown field question; the fields are dataset, text, limit, min_commit_seq"
    assert "user_id" not in await tools.refused("ask", question="q", colour="red")
    assert (await tools.refused("ask", mode="guess")).startswith("mode: must be one of question, names, ")
    failed = await tools.call("ask", question=BROKEN)
    assert failed.structured_content["code"] == "rewrite_model_unavailable"


@requirement("describe.mcp-modes", "tools.reads-without-a-model")
async def test_the_other_modes_call_no_model(tools: Tools, model: Scripted, wire: Wire) -> None:
    names = await tools.done("ask", mode="names", text="What does Soth Bakery make?")
    assert names["candidates"][0]["iri"] == record("south")
    described = await tools.done("ask", mode="describe", classes=[f"{KIND}Bread"])
    assert "kind:Bread" in described["text"]
    assert "classes" not in described, "the text says all that"
    found = await tools.done("ask", mode="commit_at", date="2999-01-01")
    assert found["as_of_commit_seq"] == 2
    for before in ("1", 1, {"as_of_commit_seq": 1}):
        compared = await tools.done("ask", mode="compare", query=PER_BAKERY, before=before, key=["bakery"])
        assert compared["changed"] == [
            {"key": {"bakery": record("south")}, "before": [{"n": "1"}], "after": [{"n": "2"}]}
        ]
    rows = await tools.done("ask", mode="sparql", query=COUNTS)
    assert [row["n"] for row in rows["rows"]] == ["2", "2"]
    assert (await tools.done("ask", mode="sparql", query="ASK { ?s ?p ?o }"))["boolean"] is True
    assert wire.asked == []


async def test_each_call_of_a_mode_is_an_event_of_its_operation(tools: Tools, loaded: CoreHandle) -> None:
    told = Told([])
    (await loaded.core()).monitor.sinks.append(told)
    await tools.done("ask", mode="names", text="North Bakery")
    await tools.done("ask", question=HOW_MANY)
    assert [(event.type, event.tool, event.dataset) for event in told.events] == [
        ("names", "ask", "main"),
        ("ask", "ask", "main"),
    ]
    assert told.events[1].models == ("claude-haiku-5-5", "claude-sonnet-5-5")


@requirement("profile.clients")
async def test_a_profile_is_read_and_written(tools: Tools) -> None:
    assert (await tools.done("ask", mode="profile"))["version"] == 0
    assert (await tools.done("ask", mode="profile", notes="In euros.", dry_run=True))["dry_run"] is True
    assert (await tools.done("ask", mode="profile", notes="In euros.", expected_version=0))["version"] == 1
    stale = await tools.call("ask", mode="profile", notes="late", expected_version=0)
    assert stale.structured_content["code"] == "conflict"
    assert (await tools.done("ask", mode="profile"))["notes"] == "In euros."


@requirement("evals.clients")
async def test_answers_of_an_agent_are_tested(tools: Tools) -> None:
    route = (await tools.done("ask", question=HOW_MANY))["route"]
    trace = (await tools.done("ask", mode="sparql", query=COUNTS, request=HOW_MANY, route=route))["trace_id"]
    labelled = await tools.done("ask", mode="evals", action="label", trace=trace, valid=True)
    golden = labelled["golden"]["id"]
    answers = [{"golden": golden, "sparql": COUNTS}]
    run = await tools.done("ask", mode="evals", action="run_answers", answers=answers, runner="mine")
    assert (run["results"]["passed"], run["results"]["runner"]) == (1, "mine")
    assert [one["id"] for one in (await tools.done("ask", mode="evals", action="goldens"))["goldens"]] == [golden]
    assert (await tools.refused("ask", mode="evals")).startswith("action: must be one of summary, ")


@requirement("ask.mcp-progress")
async def test_each_step_is_told_to_a_client_that_asks_for_it(tools: Tools) -> None:
    told: list[tuple[float, float | None, str | None]] = []

    async def watch(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    await tools.client.call_tool("ask", {"question": HOW_MANY}, progress_callback=watch)
    assert [done for done, _, _ in told] == [1, 2, 3]
    grounding, route, step = (message or "" for _, _, message in told)
    assert grounding.startswith("read the graph: ")
    assert route == "route: aggregate (0.90)"
    assert step.startswith("1. sparql: SELECT ?bakery")
    assert step.endswith("(2 rows)")


ROWS = [{"bread": f"https://bakery.test/record/{n}", "price": str(n)} for n in range(2_000)]
CHANGES = [{"key": {"bread": str(n)}, "before": [{"price": "1"}], "after": [{"price": "2"}]} for n in range(500)]
ANSWER = {"text": "There are 2,000.", "citations": ["urn:a"]}
RESULT = {
    "results": json.dumps(
        {
            "head": {"vars": ["bread", "price"]},
            "results": {
                "bindings": [{name: {"type": "literal", "value": row[name]} for name in row} for row in ROWS],
            },
        }
    ),
    "row_page": {"returned": 2_000, "total": 2_000},
}


@pytest.mark.parametrize("limit", [1_000, 8_000])
def test_a_long_result_keeps_whole_rows_and_says_how_many_there_are(limit: int) -> None:
    body = fitted_graph("ask", {"answer": ANSWER, "result": RESULT, "steps": [{"n": 1}]}, limit)
    assert fitting.fits(body, limit)
    assert body["answer"] == ANSWER
    assert body["rows"] == ROWS[: body["shown"]["rows"]] != []
    assert body["total"] == {"rows": 2_000}

    history = {"compare": True, "changed": CHANGES, "added": ROWS[:500], "totals": {"changed": 500}}
    compared = fitted_graph("ask", {"answer": ANSWER, "history": history}, limit)
    assert fitting.fits(compared, limit)
    assert compared["history"]["changed"] == CHANGES[: compared["shown"]["history.changed"]] != []
    assert compared["history"]["totals"] == {"changed": 500}

    text = fitted_graph("describe", {"text": "words " * 10_000, "commit_seq": 1}, limit)
    assert fitting.fits(text, limit)
    assert (text["text_truncated"], text["commit_seq"]) == (True, 1)

    traces = [{"trace_id": str(n), "request": "q", "results": {"items": ROWS}} for n in range(3)]
    listed = fitted_graph("evals_traces", {"traces": traces, "truncated": False}, limit)
    assert fitting.fits(listed, limit)
    assert [trace["trace_id"] for trace in listed["traces"]] == ["0"]
    assert listed["total"]["traces"] == 3


def test_a_result_that_fits_is_left_as_it_is() -> None:
    body = {"candidates": [{"iri": "urn:a"}], "commit_seq": 1}
    assert fitted_graph("names", body, 1_000) == body


def test_a_row_holds_values_alone_those_of_triples_too() -> None:
    row = {"f": {"type": "uri", "value": "urn:f"}, "t": {"type": "triple", "value": "<urn:a> <urn:b> <urn:c>"}}
    document = {"head": {"vars": ["f", "t"]}, "results": {"bindings": [row]}}
    shown = fitted_graph("sparql", {"results": json.dumps(document), "row_page": {"returned": 1}}, 1_000)
    assert shown["rows"] == [{"f": "urn:f", "t": "<urn:a> <urn:b> <urn:c>"}]


async def test_a_token_that_only_reads_asks_and_writes_no_profile(
    loaded: CoreHandle, settings: Config, model: Scripted
) -> None:
    guarded = settings.model_copy(update={"tokens": "on"})
    async with http_client(loaded, guarded) as http:
        headers = {**await made(guarded, settings.user_id, "read"), "accept": "application/json, text/event-stream"}

        async def asked(**arguments: Any) -> dict[str, Any]:
            said: dict[str, Any] = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
            said["io.modelcontextprotocol/clientCapabilities"] = {}
            params = {"name": "ask", "arguments": arguments, "_meta": said}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            more = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "ask"}
            answer: httpx2.Response = await http.post("/v1/gb/mcp", json=body, headers={**headers, **more})
            return answer.json()["result"]["structuredContent"]

        assert (await asked(question=HOW_MANY))["answer"]["citations"]
        assert (await asked(mode="sparql", query=PRICES))["rows"]
        assert (await asked(mode="profile", notes="No."))["code"] == "forbidden"
        assert (await asked(mode="profile"))["version"] == 0
