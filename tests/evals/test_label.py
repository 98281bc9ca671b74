"""Labels: what people say of answers becomes what later answers are checked against, on both databases."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from lbb import models

import storage.evals
from core.core import Core
from core.errors import Conflict, InvalidRequest, NotFound
from core.evals.golden import Golden
from core.evals.goldens import (
    CreateGoldenRequest,
    GoldenRequest,
    GoldensRequest,
    accept_golden,
    create_golden,
    delete_golden,
    goldens,
)
from core.evals.label import LabelRequest, LabelResponse, label
from core.evals.traces import TraceRequest, TracesRequest, trace, traces
from tests.evals.shop import COUNTS, HOW_MANY, LATER, SERVICES, TIER_1, TURTLE, asked, shop
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


async def say(core: Core, trace_id: str, **said: Any) -> LabelResponse:
    return await label(core, LabelRequest(user_id="u1", trace=trace_id, **said))


async def suite(core: Core) -> list[Golden]:
    found = await goldens(core, GoldensRequest(user_id="u1"))
    models.GoldenSuite.model_validate(found.body())
    return found.goldens


@requirement("evals.label", "evals.goldens")
async def test_a_right_answer_makes_its_query_the_golden_one_of_the_question(core: Core) -> None:
    core, dataset = await shop(core)
    trace_id = await asked(core, dataset, ask={"today": "2026-03-01"})
    said = await say(core, trace_id, valid=True, by="ana", note="as it is")
    models.EvalLabelResponse.model_validate(said.body())
    assert said.golden is not None
    (golden,) = await suite(core)
    assert golden == said.golden
    assert (golden.request, golden.sparql, golden.route, golden.surface) == (HOW_MANY, COUNTS, "aggregate", "ask")
    assert golden.ask and str(golden.ask.today) == "2026-03-01"
    kept = await trace(core, TraceRequest(user_id="u1", id=trace_id))
    assert kept.golden_id == golden.id and kept.answer and (kept.answer.valid, kept.answer.by) == (True, "ana")


@requirement("evals.label")
async def test_the_route_in_a_label_names_another_than_that_of_the_answer(core: Core) -> None:
    core, dataset = await shop(core)
    said = await say(core, await asked(core, dataset), valid=True, route="lookup")
    assert said.golden and said.golden.route == "lookup"


async def test_a_question_keeps_its_golden_whatever_is_said_of_its_answers(core: Core) -> None:
    core, dataset = await shop(core)
    first = await say(core, await asked(core, dataset, TIER_1), valid=True)
    second = await say(core, await asked(core, dataset), valid=False, sparql=COUNTS, route="aggregate")
    assert first.golden and second.golden
    (golden,) = await suite(core)
    assert golden.id == first.golden.id == second.golden.id
    assert (golden.created_at, golden.sparql, len(golden.trace_ids)) == (first.golden.created_at, COUNTS, 2)
    assert (await goldens(core, GoldensRequest(user_id="u1"))).version == 2


async def test_the_right_query_of_a_wrong_answer_is_run_and_gets_its_prefixes(core: Core) -> None:
    core, dataset = await shop(core)
    trace_id = await asked(core, dataset, TIER_1)
    without = 'SELECT ?s WHERE { ?s rdfs:label "risk-service" }'
    said = await say(core, trace_id, valid=False, sparql=without)
    assert said.golden and said.golden.sparql.startswith("PREFIX rdfs: <") and said.golden.route is None
    for broken in ("SELECT ?s WHERE {", "DELETE WHERE { ?s ?p ?o }", "x"):
        with pytest.raises(InvalidRequest, match=r"^sparql: ") as failure:
            await say(core, trace_id, valid=False, sparql=broken)
        assert failure.value.param == "sparql"


async def test_an_answer_found_wrong_afterwards_takes_its_golden_away(core: Core) -> None:
    core, dataset = await shop(core)
    trace_id = await asked(core, dataset)
    await say(core, trace_id, valid=True)
    said = await say(core, trace_id, valid=False)
    assert said.golden is None and await suite(core) == []
    right = await say(core, await asked(core, dataset, SERVICES), valid=True)
    await say(core, trace_id, valid=False)
    assert [golden.sparql for golden in await suite(core)] == [SERVICES]
    assert right.golden


async def test_rows_of_an_answer_are_judged_for_the_golden_of_the_question(core: Core) -> None:
    core, dataset = await shop(core)
    trace_id = await asked(core, dataset)
    payments, identity = (await trace(core, TraceRequest(user_id="u1", id=trace_id))).results.items
    first = await say(core, trace_id, item=payments.id, valid=True, note="seen")
    assert (first.labeled, first.golden) == (1, None)
    assert first.trace.labels[payments.id].note == "seen"
    await say(core, trace_id, valid=True)
    both = await say(core, trace_id, items=[{"id": identity.id, "valid": False, "note": "gone"}])
    assert both.golden
    judged = {id_: judgment.relevant for id_, judgment in both.golden.judgments.items()}
    assert judged == {payments.id: True, identity.id: False}


async def test_rows_of_a_query_make_a_golden_of_their_own(core: Core) -> None:
    core, dataset = await shop(core)
    trace_id = await asked(core, dataset, SERVICES, "Our services", surface="sparql")
    said = await say(core, trace_id, valid=True)
    assert (said.labeled, len(said.golden.judgments) if said.golden else 0) == (3, 3)
    one = said.trace.results.items[0].id
    said = await say(core, trace_id, item=one, valid=False)
    (golden,) = await suite(core)
    assert (golden.surface, golden.request, golden.judgments[one].relevant) == ("sparql", "Our services", False)


async def test_a_question_that_can_not_be_answered_has_a_golden_without_a_query(core: Core) -> None:
    core, dataset = await shop(core)
    route = {"kind": "unanswerable", "confidence": 0.7, "by": "router"}
    trace_id = await asked(core, dataset, "", "What do they earn?", route=route)
    said = await say(core, trace_id, valid=True)
    assert said.golden and (said.golden.sparql, said.golden.route) == ("", "unanswerable")
    with pytest.raises(InvalidRequest, match=r"^valid: the answer has no query"):
        await say(core, trace_id, valid=True, route="lookup")
    with pytest.raises(InvalidRequest, match=r"^id: the golden has no query"):
        await accept_golden(core, GoldenRequest(user_id="u1", id=said.golden.id))


async def test_labelled_traces_are_no_more_unlabelled_and_stay(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage.evals, "TRACES_KEPT", 2)
    core, dataset = await shop(core)
    old = await asked(core, dataset)
    await say(core, old, valid=False)
    new = [await asked(core, dataset, question=f"Question {n}?") for n in range(4)]
    listed = await traces(core, TracesRequest(user_id="u1"))
    assert [one.trace_id for one in listed.traces] == [new[3], new[2], old]
    unlabeled = await traces(core, TracesRequest(user_id="u1", unlabeled=True))
    assert [one.trace_id for one in unlabeled.traces] == [new[3], new[2]]


async def test_labels_at_the_same_moment_all_count(core: Core) -> None:
    core, dataset = await shop(core)
    ids = [await asked(core, dataset) for _ in range(6)]
    said = await asyncio.gather(*(say(core, trace_id, valid=True) for trace_id in ids))
    (golden,) = await suite(core)
    assert {one.golden.id for one in said if one.golden} == {golden.id}
    assert set(golden.trace_ids) == set(ids)
    rows = said[0].trace.results.items
    await asyncio.gather(*(say(core, ids[0], item=row.id, valid=True) for row in rows))
    assert len((await trace(core, TraceRequest(user_id="u1", id=ids[0]))).labels) == len(rows)


async def test_a_query_is_frozen_and_what_it_returns_later_accepted(core: Core) -> None:
    core, _ = await shop(core, TURTLE, LATER)
    made = await create_golden(core, CreateGoldenRequest(user_id="u1", sparql=SERVICES, request="All services"))
    models.GoldenResponse.model_validate(made.body())
    assert (len(made.golden.judgments), made.golden.origin, made.suite_version) == (4, "manual", 1)
    again = await create_golden(core, CreateGoldenRequest(user_id="u1", sparql=SERVICES, request="All services"))
    assert (again.golden.id, again.golden.created_at) == (made.golden.id, made.golden.created_at)
    earlier, _ = await shop(core, TURTLE)
    accepted = await accept_golden(earlier, GoldenRequest(user_id="u1", id=made.golden.id))
    assert len(accepted.golden.judgments) == 3 and accepted.golden.accepted_by == "user"


async def test_a_golden_is_deleted_once(core: Core) -> None:
    core, dataset = await shop(core)
    golden = (await say(core, await asked(core, dataset), valid=True)).golden
    assert golden
    for expected in ((True, 2), (False, 2)):
        gone = await delete_golden(core, GoldenRequest(user_id="u1", id=golden.id))
        assert (gone.deleted, gone.suite_version) == expected
    with pytest.raises(NotFound):
        await accept_golden(core, GoldenRequest(user_id="u1", id=golden.id))


async def test_a_dataset_has_so_many_goldens_and_no_more(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage.evals, "MAX_GOLDENS", 2)
    core, dataset = await shop(core)
    for question in ("One?", "Two?"):
        await say(core, await asked(core, dataset, question=question), valid=True)
    third = await asked(core, dataset, question="Three?")
    with pytest.raises(Conflict, match="at most 2 goldens"):
        await say(core, third, valid=True)
    assert (await trace(core, TraceRequest(user_id="u1", id=third))).answer is None
    await say(core, await asked(core, dataset, question="One?"), valid=True)


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({}, "valid: is required"),
        ({"items": []}, "items: must hold"),
        ({"items": [{"id": "x", "valid": True}], "valid": True}, "items: can't"),
        ({"valid": True, "sparql": COUNTS}, "sparql: can only"),
        ({"valid": False, "item": "x", "sparql": COUNTS}, "sparql: can only"),
        ({"valid": False, "route": "lookup"}, "route: can only"),
        ({"valid": True, "route": "guess"}, "route"),
        ({"valid": True, "source": "hearsay"}, "source"),
        ({"items": [{"id": "x", "valid": True, "score": 1}]}, "score"),
    ],
)
def test_a_label_that_says_two_things_or_none_is_refused(said: dict[str, Any], names: str) -> None:
    with pytest.raises(ValueError, match=names):
        LabelRequest(user_id="u1", trace="x", **said)


async def test_a_label_of_what_is_not_there_is_refused(core: Core) -> None:
    core, dataset = await shop(core)
    trace_id = await asked(core, dataset)
    with pytest.raises(InvalidRequest, match=r"^item: the trace shows no such row"):
        await say(core, trace_id, item="e:0", valid=True)
    with pytest.raises(NotFound, match=r"^trace: there is no such trace"):
        await say(core, "0" * 24, valid=True)
    with pytest.raises(NotFound):
        await label(core, LabelRequest(user_id="u2", trace=trace_id, valid=True))
