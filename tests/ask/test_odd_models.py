"""Models that do what none should, over the wire of both APIs, against servers that are as strict as the real ones."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

import pytest

from gligabao_mcp.providers.anthropic import AnthropicModel
from gligabao_mcp.providers.openai import OpenAIModel
from tests import wire as api
from tests.ask.asking import Asker, Call, answer, sparql
from tests.ask.services import COUNT, PREFIXES, SERVICES, TOTAL, load, records
from tests.ask.speaking import Speak, Spoken, claude_says, local_says
from tests.requirements import requirement
from tests.wire import Said, Wire

pytestmark = pytest.mark.anyio

TEAMS = records("payments", "identity")


def wrong_for_anthropic(body: Mapping[str, Any]) -> str:
    """What the Messages API would refuse it for."""
    open_calls: set[str] = set()
    for message in body["messages"]:
        blocks: list[dict[str, Any]] = message["content"]
        if not blocks:
            return "all messages must have non-empty content"
        if any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            return "text content blocks must contain non-whitespace text"
        if message["role"] == "assistant" and blocks[-1]["type"] == "thinking":
            return "The final block in an assistant message cannot be `thinking`"
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if results != open_calls:
            return "tool_use ids were found without tool_result blocks immediately after"
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
    marks = json.dumps(body).count("cache_control")
    return f"A maximum of 4 blocks with cache_control may be provided. Found {marks}." if marks > 4 else ""


def wrong_for_local(body: Mapping[str, Any]) -> str:
    """What a compatible server would refuse it for: some read the arguments of calls again."""
    for message in body["messages"]:
        for call in message.get("tool_calls") or ():
            try:
                read = json.loads(call["function"]["arguments"])
            except ValueError:
                return "failed to parse tool call arguments as JSON"
            if not isinstance(read, dict):
                return "tool call arguments must be an object"
    return ""


@dataclass
class Odd:
    """A question, a model, and what its server says."""

    asked: Asker
    wire: Wire
    speak: Speak
    wrong: Callable[[Mapping[str, Any]], str]

    async def ask(self, *said: Spoken, **fields: Any) -> dict[str, Any]:
        self.wire.says(*(self._unless_wrong(self.speak(one)) for one in said))
        return await self.asked.ask(**fields)

    def _unless_wrong(self, said: Said) -> Callable[[dict[str, Any]], Said]:
        def reply(body: dict[str, Any]) -> Said:
            wrong = self.wrong(body)
            return api.openai_error(400, wrong) if wrong else said

        return reply


@pytest.fixture
def wire() -> Iterator[Wire]:
    with Wire() as wire:
        yield wire


@pytest.fixture(params=["anthropic", "openai"])
async def odd(request: pytest.FixtureRequest, asked: Asker, wire: Wire) -> AsyncIterator[Odd]:
    if request.param == "anthropic":
        model = AnthropicModel(api_key="sk-ant-test", base_url=wire.url, model="claude-sonnet-5-5", max_retries=0)
        yield Odd(asked.changed(asker=model), wire, claude_says, wrong_for_anthropic)
    else:
        model = OpenAIModel(model="qwen3", base_url=f"{wire.url}/v1", max_retries=0)
        yield Odd(asked.changed(asker=model), wire, local_says, wrong_for_local)
    await model.aclose()


@pytest.mark.parametrize("empty", ["", " \n"])
async def test_a_turn_without_a_word_is_asked_for_an_answer(odd: Odd, empty: str) -> None:
    body = await odd.ask(sparql(COUNT), empty, answer("Two each.", *TEAMS))
    assert body["answer"]["citations"] == TEAMS


async def test_a_turn_of_nothing_is_asked_for_an_answer(odd: Odd) -> None:
    body = await odd.ask(sparql(COUNT), [], [], answer("Two each.", *TEAMS))
    assert body["answer"]["citations"] == TEAMS


@pytest.mark.parametrize("odd", ["anthropic"], indirect=True)
async def test_thoughts_alone_are_no_turn(odd: Odd) -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    body = await odd.ask(sparql(COUNT), claude_says([], content=[thought]), answer("Two each.", *TEAMS))
    assert body["answer"]["citations"] == TEAMS


@requirement("ask.rounds-and-steps")
async def test_many_calls_at_once_each_get_their_result(odd: Odd) -> None:
    body = await odd.ask([*sparql(COUNT), *answer("A guess."), ("nothing", {}), *sparql(TOTAL)], answer("Four."))
    assert [step["rows"] for step in body["steps"]] == [2, 1]
    assert body["answer"]["text"] == "Four."


async def test_thirteen_steps_in_a_turn_are_twelve(odd: Odd) -> None:
    body = await odd.ask(sparql(TOTAL) * 13, answer("Four."))
    assert (len(body["steps"]), body["answer"]["text"]) == (12, "Four.")


@pytest.mark.parametrize("odd", ["openai"], indirect=True)
@pytest.mark.parametrize("broken", ["{", "", '{"query": "ASK', "[1]", '"ASK {}"', "null", "[" * 100_000])
async def test_arguments_that_are_no_object_are_a_failed_step_and_go_back_as_an_empty_one(
    odd: Odd, broken: str
) -> None:
    calls = cast("list[Call]", [("sparql", broken), *sparql(COUNT)])
    body = await odd.ask(calls, answer("Two each.", *TEAMS))
    assert [step["ok"] for step in body["steps"]] == [False, True]
    assert body["answer"]["citations"] == TEAMS


@pytest.mark.parametrize("bad", ["\ud800", "\x00", "\u2028", "e\u0301 \U0001f600"])
async def test_no_character_of_a_turn_keeps_it_from_going_back(odd: Odd, bad: str) -> None:
    body = await odd.ask(
        f"Let me {bad} look.", [("sparql", {"query": f"ASK {{ ?s ?p '{bad}' }}"})], answer(f"It is {bad}.", bad)
    )
    assert body["answer"]["text"].startswith("It is ")


async def test_an_answer_cites_what_it_may_of_forty(odd: Odd) -> None:
    await load(odd.asked.core, PREFIXES + "".join(f"e:n{n:03} a c:note .\n" for n in range(40)))
    notes = [f"e:n{n:03}" for n in range(40)]
    body = await odd.ask(sparql("SELECT ?s WHERE { ?s a class:note } ORDER BY ?s"), answer("These.", *notes))
    assert body["answer"]["citations"] == records(*(f"n{n:03}" for n in range(20)))


async def test_a_chart_of_no_such_columns_is_dropped(odd: Odd) -> None:
    body = await odd.ask(sparql(COUNT), answer("Two each.", *TEAMS, chart={"kind": "bar", "x": "?l", "y": "no"}))
    assert "chart" not in body["answer"]


async def test_a_turn_that_runs_into_its_limit_is_asked_for_once_more(odd: Odd) -> None:
    cut = {"stop_reason": "max_tokens"} if odd.speak is claude_says else {"finish_reason": "length"}
    body = await odd.ask(odd.speak(sparql(SERVICES), **cut), sparql(COUNT), answer("Two each.", *TEAMS))
    assert [step["input"]["query"] for step in body["steps"]] == [COUNT]


async def test_a_refusal_after_a_step_leaves_the_rows(odd: Odd) -> None:
    no = {"stop_reason": "refusal"} if odd.speak is claude_says else {"finish_reason": "content_filter"}
    body = await odd.ask(sparql(COUNT), odd.speak("", **no))
    assert (body["error"], body["result"]["row_page"]["total"]) == ("the model refused to answer", 2)


@pytest.mark.parametrize(
    "more",
    [
        {"route": "numbers"},
        {"step": None, "rationale": None, "chart": None, "route": None},
        {"step": "1", "chart": "bar"},
        {"citations": json.dumps(TEAMS)},
        {"citations": [f"<{iri}>" for iri in TEAMS]},
    ],
)
async def test_an_answer_in_a_loose_form_is_taken(odd: Odd, more: dict[str, Any]) -> None:
    stated: Call = ("answer", {"text": "Two each.", "citations": TEAMS, **more})
    body = await odd.ask(sparql(COUNT), [stated])
    assert body["answer"] == {"text": "Two each.", "citations": TEAMS}
    assert body["route"]["kind"] == "lookup"


async def test_calls_of_nothing_after_an_answer_that_went_back_do_not_lose_it(odd: Odd) -> None:
    nothing: list[Call] = [("nothing", {})]
    body = await odd.ask(sparql(SERVICES), answer("Auth.", *records("auth")), *[nothing] * 4)
    assert body["answer"]["text"] == "Auth."
