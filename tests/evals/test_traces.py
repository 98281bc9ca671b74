"""Traces: what is kept of an answered question, and for how long, on both databases."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lbb import models

import storage.evals
from core.core import Core
from core.errors import NotFound
from core.evals.goldens import GoldensRequest, goldens
from core.evals.items import SHOWN_ITEMS, ids_of, items_of
from core.evals.label import LabelRequest, label
from core.evals.run import RunRequest, run_goldens
from core.evals.traces import NewTrace, TraceRequest, TracesRequest, record_trace, trace, traces
from core.forget.forget import ForgetRequest, forget
from core.forget.purge import PurgeRequest, purge
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRequest
from core.rdf.terms import Solutions, Term
from tests.conftest import Tables
from tests.evals.shop import COUNTS, HOW_MANY, asked, shop

pytestmark = pytest.mark.anyio

RISK, TWO = Term("uri", "https://shop.test/e/risk"), Term("literal", "2", "http://www.w3.org/2001/XMLSchema#integer")


def rows(*rows: dict[str, Term]) -> Solutions:
    return Solutions(tuple(rows[0]), rows, len(rows), 1, 0.0)


async def test_a_trace_keeps_the_question_the_query_the_answer_and_its_rows(core: Core) -> None:
    core, dataset = await shop(core)
    trace_id = await asked(core, dataset, ask={"today": "2026-03-01", "context": "Teams own services."})
    kept = await trace(core, TraceRequest(user_id="u1", id=trace_id))
    shown = models.EvalTrace.model_validate(kept.body())
    assert (shown.request, shown.sparql, shown.served_at_seq) == (HOW_MANY, COUNTS, 1)
    assert shown.reply and shown.reply.text == "Payments runs 2, identity 1."
    assert shown.route and shown.route.kind.value == "aggregate"
    assert shown.ask and (shown.ask.today, shown.ask.context) == ("2026-03-01", "Teams own services.")
    assert shown.results.item_count == 2
    assert {item.label.split(", ", 1)[1] for item in shown.results.items or []} == {
        "payments team, 2",
        "identity team, 1",
    }


async def test_traces_come_newest_first_and_say_whether_there_are_more(core: Core) -> None:
    core, dataset = await shop(core)
    ids = [await asked(core, dataset, question=f"Question {n}?") for n in range(4)]
    page = await traces(core, TracesRequest(user_id="u1", limit=3))
    models.EvalTraceListResponse.model_validate(page.body())
    assert ([one.trace_id for one in page.traces], page.truncated) == (ids[:0:-1], True)
    whole = await traces(core, TracesRequest(user_id="u1"))
    assert ([one.trace_id for one in whole.traces], whole.truncated) == (ids[::-1], False)


async def test_only_the_newest_traces_are_kept(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage.evals, "TRACES_KEPT", 3)
    core, dataset = await shop(core)
    ids = [await asked(core, dataset, question=f"Question {n}?") for n in range(5)]
    kept = await traces(core, TracesRequest(user_id="u1"))
    assert [one.trace_id for one in kept.traces] == ids[:1:-1]


async def test_rows_are_kept_whatever_characters_they_hold(core: Core) -> None:
    core, dataset = await shop(core)
    odd = rows({"s": Term("literal", "a\x00b\ud800\U0001f600")}, {"s": Term("bnode", "b0")})
    trace_id = await record_trace(core, dataset, NewTrace("What?\x00", "sparql", "ASK {}", "none", 1, odd))
    kept = await trace(core, TraceRequest(user_id="u1", id=trace_id or ""))
    assert kept.results.items[0].label == "a\x00b\ud800\U0001f600"
    assert kept.results.item_count == 2


async def test_a_trace_of_another_user_or_dataset_is_not_there(core: Core) -> None:
    core, dataset = await shop(core)
    trace_id = await asked(core, dataset)
    for user in ("u1", "u2"):
        with pytest.raises(NotFound) as failure:
            await trace(core, TraceRequest(user_id=user, id=trace_id if user == "u2" else "0" * 24))
        assert failure.value.message == "id: there is no such trace"


async def test_nothing_is_kept_of_a_question_to_a_memory_that_holds_nothing(core: Core) -> None:
    nothing = await graph_of(core, GraphRequest(user_id="nobody"))
    new = NewTrace("Who?", "ask", "", "none", 0, None)
    assert await record_trace(core, nothing, new) is None
    assert (await traces(core, TracesRequest(user_id="nobody"))).traces == []


async def test_traces_go_with_their_dataset(core: Core, tables: Tables) -> None:
    core, dataset = await shop(core)
    await asked(core, dataset)
    gone = await forget(core, ForgetRequest(user_id="u1", scope="dataset"))
    assert (await traces(core, TracesRequest(user_id="u1"))).traces == []
    assert gone.tombstone_id is not None
    await purge(core, PurgeRequest(user_id="u1", tombstone_id=gone.tombstone_id))
    assert tables.count("gb_eval_traces") == 0


async def test_what_is_purged_is_in_no_trace_run_or_golden_any_more(core: Core, tables: Tables) -> None:
    core, dataset = await shop(core)
    trace_id = await asked(core, dataset)
    item = (await trace(core, TraceRequest(user_id="u1", id=trace_id))).results.items[0]
    await label(core, LabelRequest(user_id="u1", trace=trace_id, valid=True))
    await label(core, LabelRequest(user_id="u1", trace=trace_id, item=item.id, valid=True))
    await run_goldens(replace(core, asker=None), RunRequest(user_id="u1"))
    gone = await forget(core, ForgetRequest(user_id="u1", scope="edge", id="1", purge=True))
    later = await asked(core, dataset)
    assert gone.purged
    assert [one.trace_id for one in (await traces(core, TracesRequest(user_id="u1"))).traces] == [later]
    assert tables.count("gb_eval_results") == 0
    (golden,) = (await goldens(core, GoldensRequest(user_id="u1"))).goldens
    assert (golden.sparql, golden.judgments[item.id].relevant, golden.judgments[item.id].label) == (COUNTS, True, "")


async def test_a_trace_of_a_dataset_that_was_purged_meanwhile_is_dropped(core: Core, tables: Tables) -> None:
    core, dataset = await shop(core)
    await forget(core, ForgetRequest(user_id="u1", scope="dataset", purge=True))
    assert await record_trace(core, dataset, NewTrace("Who?", "ask", "", "none", 1, None))
    assert tables.count("gb_eval_traces") == 0


def test_to_a_question_a_row_is_the_record_that_it_names() -> None:
    first, second = rows({"s": RISK, "n": TWO}), rows({"count": replace_value(TWO, "3"), "service": RISK})
    assert ids_of(first, "ask") == ids_of(second, "ask")
    assert ids_of(first, "sparql") != ids_of(second, "sparql")
    assert ids_of(first, "ask")[0].startswith("e:")


def test_a_row_that_names_no_record_is_its_values() -> None:
    assert ids_of(rows({"n": TWO}), "ask") == ids_of(rows({"count": TWO}), "ask")
    assert ids_of(rows({"n": TWO}), "ask") != ids_of(rows({"n": replace_value(TWO, "3")}), "ask")
    assert ids_of(rows({"n": TWO}), "ask")[0].startswith("v:")


def test_the_answer_of_an_ask_is_one_item() -> None:
    items = items_of(Solutions((), (), 0, 1, 0.0, boolean=False), "ask")
    assert (items.item_count, [item.id for item in items.items], items.items[0].value) == (1, ["ask:false"], False)


def test_of_many_rows_the_first_are_shown_and_of_long_values_the_beginning() -> None:
    many = rows(
        *({"s": replace_value(RISK, f"https://shop.test/e/{n}"), "x": Term("literal", "x" * 5_000)} for n in range(150))
    )
    items = items_of(many, "ask")
    assert (items.item_count, len(items.items)) == (150, SHOWN_ITEMS)
    assert max(len(str(item.value)) + len(item.label) for item in items.items) < 1_500


def replace_value(term: Term, value: str) -> Term:
    return term._replace(value=value)
