"""What a question tells while it is worked on."""

from __future__ import annotations

import asyncio

import pytest

from core.ask.ask import ask, ask_events
from core.errors import InvalidRequest
from tests.ask.asking import Asker, answer, sparql
from tests.ask.services import COUNT, RECORD, SERVICES, TOTAL, records
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

TEAMS = records("payments", "identity")


@requirement("stream.grounding-event", "stream.route-event", "stream.step-event", "stream.answer-event")
async def test_events_come_in_the_order_of_the_work(asked: Asker) -> None:
    asked.model.turns(sparql(COUNT), answer("Two each.", *TEAMS, chart={"kind": "bar", "x": "l", "y": "n"}))
    events = await asked.events("How many services does each team run?")
    assert [name for name, _ in events] == ["grounding", "route", "step", "answer", "done"]
    grounding, route, step, said, done = (data for _, data in events)
    assert grounding.keys() == {"cached", "age_ms", "classes"}
    assert (grounding["cached"], grounding["classes"]) == (False, 2)
    assert route == done["route"]
    assert step == {"n": 1, "tool": "sparql", "input": COUNT, "ok": True, "rows": 2}
    assert said == done["answer"]


@requirement("stream.done-event")
async def test_the_last_event_is_the_response(asked: Asker) -> None:
    asked.model.turns(*[sparql(TOTAL), answer("Four.")] * 2)
    plain = await asked.ask()
    name, last = (await asked.events())[-1]
    same = plain.keys() - {"timings", "grounding", "steps", "result", "models"}
    assert name == "done"
    assert last.keys() == plain.keys()
    assert {field: last[field] for field in same} == {field: plain[field] for field in same}


@requirement("stream.route-event")
async def test_another_route_is_told_before_the_answer(asked: Asker) -> None:
    asked.model.replies({"kind": "lookup", "probabilities": {"lookup": 1}})
    asked.model.turns(sparql(COUNT), answer("Two each.", *TEAMS, route="aggregate"))
    events = await asked.events(route=None)
    assert [name for name, _ in events] == ["grounding", "route", "step", "route", "answer", "done"]
    assert [data["by"] for name, data in events if name == "route"] == ["router", "rewriter"]


@requirement("stream.step-event")
async def test_a_step_is_told_on_one_line_without_prefixes(asked: Asker) -> None:
    long = f"PREFIX e: <{RECORD}>\n# a remark\n{SERVICES}\n" + f"# {'x' * 300}\nLIMIT 10 OFFSET 0" + " " * 300
    asked.model.turns(
        [
            ("sparql", {"query": f"PREFIX e: <{RECORD}>\n" + "SELECT ?s WHERE {\n" + " ?s ?p ?o ." * 60 + "\n}"}),
            ("sparql", {"query": long}),
            ("find_entities", {"text": "payments team\nledger-service"}),
            ("commit_for_date", {"date": "2001-01-01"}),
            ("describe", {"classes": ["class:team"], "properties": ["p:tier"]}),
        ],
        answer("I can't tell.", route="unanswerable"),
    )
    steps = [data for name, data in await asked.events() if name == "step"]
    lines = [step["input"] for step in steps]
    assert all(len(line) <= 200 and "\n" not in line and "PREFIX" not in line for line in lines)
    assert lines[1:] == [
        f"{SERVICES} LIMIT 10 OFFSET 0",
        "payments team ledger-service",
        "2001-01-01",
        "class:team p:tier",
    ]
    assert [step["ok"] for step in steps] == [True, True, True, False, True]
    assert ["rows" in step for step in steps] == [True, True, False, False, False]


async def test_the_route_alone_has_three_events(asked: Asker) -> None:
    assert [name for name, _ in await asked.events(mode="route")] == ["grounding", "route", "done"]


@requirement("grounding.kept-10-minutes", "stream.grounding-event")
async def test_the_second_question_is_told_that_the_description_was_kept(asked: Asker) -> None:
    asked.model.turns(answer(), answer())
    assert [(await asked.events())[0][1]["cached"] for _ in range(2)] == [False, True]


async def test_events_may_be_taken_in_other_contexts(asked: Asker) -> None:
    """A web server takes the first in one task and the rest in another."""
    asked.model.turns(sparql(TOTAL), answer("Four."))
    events = ask_events(asked.core, asked.request("How many?"))
    names = ["grounding"]
    await asyncio.create_task(anext(events))  # pyright: ignore[reportArgumentType]
    names += [event.name async for event in events]
    assert names == ["grounding", "route", "step", "answer", "done"]


@requirement("stream.early-errors")
async def test_a_commit_that_is_not_there_is_refused_before_any_event(asked: Asker) -> None:
    request = asked.request("How many?", as_of_commit_seq=99)
    for refused in (ask(asked.core, request), anext(ask_events(asked.core, request))):
        with pytest.raises(InvalidRequest) as failed:
            await refused
        assert failed.value.param == "as_of_commit_seq"
