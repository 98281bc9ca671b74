"""Questions and their answers: rounds, steps, rows and citations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.talk import Told
from tests.ask.asking import Asker, answer, sparql, told_in
from tests.ask.services import BROKEN, COUNT, GRAPH, PREFIXES, SERVICES, TOTAL, USER, load, record, records
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

TEAMS = records("payments", "identity")


@requirement("ask.answers-on-the-server", "ask.query-field", "ask.result-field", "ask.steps-field", "ask.rationale")
async def test_an_answer_comes_with_its_query_and_rows(asked: Asker) -> None:
    asked.model.turns(sparql(COUNT), answer("Both run two.", *TEAMS, step=1))
    body = await asked.ask("How many services does each team run?")
    assert body["answer"] == {"text": "Both run two.", "citations": TEAMS}
    assert body["query"]["entailment"] == "none"
    assert "PREFIX class: <https://x.test/class/>" in body["query"]["sparql"]
    rows = json.loads(body["result"]["results"])["results"]["bindings"]
    assert {row["l"]["value"]: row["n"]["value"] for row in rows} == {"payments team": "2", "identity team": "2"}
    (step,) = body["steps"]
    assert (step["n"], step["tool"], step["ok"], step["rows"], step["input"]) == (
        1,
        "sparql",
        True,
        2,
        {"query": COUNT},
    )
    assert body["rationale"] == "The rows hold it."
    assert body["attempts"] == 1
    assert "error" not in body


@requirement("ask.corrects-queries", "ask.attempts")
async def test_a_query_that_fails_goes_back_to_the_model_with_its_error(asked: Asker) -> None:
    asked.model.turns(sparql(BROKEN), sparql(TOTAL), answer("Four.", step=2))
    body = await asked.ask()
    assert [step["ok"] for step in body["steps"]] == [False, True]
    assert body["steps"][0]["error"] in told_in(asked.last)[1]
    assert (body["attempts"], body["answer"]["text"]) == (2, "Four.")


@requirement("ask.reads-only")
@pytest.mark.parametrize(
    "query",
    ["DELETE WHERE { ?s ?p ?o }", "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "DESCRIBE <https://x.test/e/risk>"],
)
async def test_only_select_and_ask_run(asked: Asker, query: str) -> None:
    asked.model.turns(sparql(query), sparql(TOTAL), answer())
    body = await asked.ask()
    assert [step["ok"] for step in body["steps"]] == [False, True]
    assert json.loads(body["result"]["results"])["results"]["bindings"][0]["n"]["value"] == "4"


@requirement("ask.adds-prefixes")
async def test_prefixes_of_the_graph_need_no_line(asked: Asker) -> None:
    asked.model.turns(sparql("ASK { ?s a class:service ; rdfs:label ?l }"), answer("Yes."))
    query = (await asked.ask())["query"]["sparql"]
    assert "PREFIX class: <https://x.test/class/>" in query
    assert "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>" in query


@requirement("ask.reads-30-rows", "privacy.rows")
async def test_the_model_reads_the_number_of_rows_and_thirty_of_them(asked: Asker) -> None:
    long = "x" * 300
    await load(asked.core, PREFIXES + "".join(f'e:n{n} a c:note ; p:text "{n:03} {long}" .\n' for n in range(130)))
    asked.model.turns(sparql("SELECT ?text WHERE { ?s p:text ?text } ORDER BY ?text"), answer("There are 130 notes."))
    body = await asked.ask(limit=50)
    told = told_in(asked.last)[1].splitlines()
    assert told[0] == "step 1: 130 rows, 50 of which are returned; the first 30:"
    assert len(told[2:]) == 30
    assert all(len(value) == 202 for value in told[2:])  # with its quotes
    page = body["result"]["row_page"]
    assert (body["steps"][0]["rows"], page["total"], page["returned"], page["limit"]) == (130, 130, 50, 50)


@requirement("ask.limit")
async def test_a_query_returns_a_hundred_rows_unless_another_limit_is_given(asked: Asker) -> None:
    await load(asked.core, PREFIXES + "".join(f"e:n{n} a c:note .\n" for n in range(130)))
    given: dict[str, Any] = {"limit": 7}
    for limit, returned in (({}, 100), (given, 7)):
        asked.model.turns(sparql("SELECT ?s WHERE { ?s a c:note }".replace("c:", "class:")), answer())
        body = await asked.ask(**limit)
        assert body["result"]["row_page"]["returned"] == returned


@requirement("ask.rounds-and-steps")
async def test_after_four_rounds_the_model_has_to_answer(asked: Asker) -> None:
    asked.model.turns(*[sparql(TOTAL)] * 4, answer("Four."))
    body = await asked.ask()
    assert (len(body["steps"]), body["answer"]["text"]) == (4, "Four.")
    told = told_in(asked.last)[1:]
    assert ["Call answer now" in one for one in told] == [False, False, False, True]
    # The same tools to the end: they stand before all else in the provider's cache.
    assert all(talk.tools == asked.model.talks[0].tools for talk in asked.model.talks)


@requirement("ask.rounds-and-steps")
async def test_a_fifth_round_is_refused_and_then_only_the_answer_is_offered(asked: Asker) -> None:
    asked.model.turns(*[sparql(TOTAL)] * 5, answer("Four."))
    body = await asked.ask()
    assert (len(body["steps"]), body["answer"]["text"]) == (4, "Four.")
    assert [[tool.name for tool in talk.tools] == ["answer"] for talk in asked.model.talks] == [*[False] * 5, True]
    assert told_in(asked.last)[-1].startswith("No step is left.")


@requirement("ask.rounds-and-steps")
async def test_no_more_than_twelve_steps_are_taken(asked: Asker) -> None:
    asked.model.turns(sparql(TOTAL) * 7, sparql(TOTAL) * 7, answer("Four."))
    body = await asked.ask()
    assert len(body["steps"]) == 12
    told = asked.last.messages[-1]
    assert isinstance(told, Told)
    assert [result.failed for result in told.results] == [False] * 5 + [True] * 2


async def test_a_model_that_goes_on_without_steps_is_stopped(asked: Asker) -> None:
    asked.model.turns(*[sparql(TOTAL)] * 8)
    body = await asked.ask()
    assert "answer" not in body
    assert "did not call the tool" in body["error"]
    assert (len(body["steps"]), body["result"]["row_page"]["total"]) == (4, 1)


async def test_an_answer_beside_other_calls_waits_for_their_results(asked: Asker) -> None:
    asked.model.turns([*sparql(TOTAL), *answer("A guess.")], answer("Four."))
    assert (await asked.ask())["answer"]["text"] == "Four."


@requirement("ask.unanswerable")
async def test_an_unanswerable_question_says_what_is_missing_and_has_no_query(asked: Asker) -> None:
    asked.model.replies({"kind": "lookup", "probabilities": {"lookup": 1}})
    asked.model.turns(sparql(TOTAL), answer("The graph holds no salaries.", route="unanswerable"))
    body = await asked.ask("What does the first engineer earn?", route=None)
    assert body["answer"] == {"text": "The graph holds no salaries.", "citations": []}
    assert (body["route"]["kind"], body["route"]["by"]) == ("unanswerable", "rewriter")
    assert not {"query", "result", "history"} & body.keys()


@requirement("ask.steps", "names.linked")
async def test_names_are_found_and_classes_described(asked: Asker) -> None:
    asked.model.turns(
        [("find_entities", {"text": "payments team"}), ("describe", {"classes": ["class:service"]})],
        sparql(SERVICES),
        answer("Four.", *records("auth", "ledger", "mail", "risk"), step=3),
    )
    body = await asked.ask()
    assert [(step["tool"], step["ok"]) for step in body["steps"]] == [
        ("find_entities", True),
        ("describe", True),
        ("sparql", True),
    ]
    found, described = told_in(asked.model.talks[1])[-2:]
    assert f"<{record('payments')}>" in found
    assert "class:service" in described


async def test_names_that_are_not_read_yet_are_no_missing_names(asked: Asker, monkeypatch: pytest.MonkeyPatch) -> None:
    async def reading(*_: object) -> None:
        return None

    monkeypatch.setattr(asked.core.names, "get", reading)
    asked.model.turns([("find_entities", {"text": "payments team"})], answer("I can't tell."))
    (step,) = (await asked.ask())["steps"]
    assert (step["ok"], "still being read" in step["error"]) == (False, True)


async def test_words_without_a_call_are_an_answer_when_the_model_insists(asked: Asker) -> None:
    asked.model.turns(sparql(TOTAL), "There are four.", "There are four services.")
    body = await asked.ask()
    assert body["answer"]["text"] == "There are four services."
    assert body["rationale"] == "The rows of step 1 hold the answer."


async def test_arguments_that_make_no_sense_are_a_failed_step(asked: Asker) -> None:
    asked.model.turns([("sparql", {}), ("commit_for_date", {"date": "June"})], answer("I can't tell."))
    errors = [step["error"] for step in (await asked.ask())["steps"]]
    assert errors[0].startswith("query:")
    assert errors[1] == "date: Value error, must be a date such as 2026-03-01"


@pytest.mark.parametrize("bad", ["\ud800", "\x00", "\u2028", "'\"}\\", "# x\n#", "PREFIX e: <x> PREFIX"])
async def test_no_characters_of_a_model_break_the_question(asked: Asker, bad: str) -> None:
    asked.model.turns(
        [
            ("sparql", {"query": f"SELECT ?s {bad} WHERE {{ ?s rdfs:label '{bad}' }}"}),
            ("find_entities", {"text": f"{bad} x"}),
            ("describe", {"classes": [bad, f"class:{bad}"], "properties": [f"<{bad}>"]}),
            ("compare", {"query": bad, "since": "2026-01-01", "key": [bad]}),
            ("sparql", {"query": TOTAL, bad: bad, "entailment": "none"}),
        ],
        answer(f"It is {bad}.", bad, record(bad), rationale=bad, chart={"kind": "bar", "x": bad, "y": bad}),
    )
    body = await asked.ask()
    json.dumps(body, ensure_ascii=False).encode()
    assert body["answer"]["citations"] == []


# Citations


@requirement("ask.citations-were-read")
async def test_records_that_were_never_read_are_not_cited(asked: Asker) -> None:
    asked.model.turns(sparql(COUNT), answer("Two each.", *TEAMS, record("nowhere"), "not an iri"))
    body = await asked.ask()
    assert body["answer"]["citations"] == TEAMS
    assert len(asked.model.talks) == 2


@requirement("ask.citations-were-read")
async def test_a_record_past_the_thirtieth_row_was_not_read(asked: Asker) -> None:
    await load(asked.core, PREFIXES + "".join(f"e:n{n:03} a c:note .\n" for n in range(40)))
    asked.model.turns(
        sparql("SELECT ?s WHERE { ?s a class:note } ORDER BY ?s"), answer("Some.", *records("n000", "n029", "n030"))
    )
    assert (await asked.ask())["answer"]["citations"] == records("n000", "n029")


@requirement("ask.citation-limit")
async def test_at_most_twenty_records_are_cited(asked: Asker) -> None:
    await load(asked.core, PREFIXES + "".join(f"e:n{n:03} a c:note .\n" for n in range(25)))
    notes = records(*(f"n{n:03}" for n in range(25)))
    asked.model.turns(sparql("SELECT ?s WHERE { ?s a class:note } ORDER BY ?s"), answer("These.", *notes))
    assert (await asked.ask())["answer"]["citations"] == notes[:20]


async def test_a_record_may_be_cited_by_its_short_name(asked: Asker) -> None:
    asked.model.turns(sparql(COUNT), answer("Two each.", "e:payments", f"<{record('identity')}>"))
    assert (await asked.ask())["answer"]["citations"] == TEAMS


@requirement("ask.citations-match-rows")
async def test_records_from_elsewhere_send_the_answer_back_once(asked: Asker) -> None:
    asked.model.turns(sparql(SERVICES), sparql(COUNT), *[answer("Risk is.", record("risk"), step=2)] * 2)
    body = await asked.ask()
    assert len(asked.model.talks) == 4
    back = told_in(asked.last)[-1]
    assert "elsewhere than the rows of step 2" in back
    assert record("risk") in back
    assert (body["answer"]["citations"], len(body["steps"])) == ([record("risk")], 2)


@requirement("ask.citations-match-rows")
async def test_rows_that_are_passed_over_send_the_answer_back_and_a_narrower_query_mends_it(asked: Asker) -> None:
    top = f"{SERVICES} LIMIT 1"
    asked.model.turns(
        sparql(SERVICES),
        answer("Auth is the first.", record("auth")),
        sparql(top),
        answer("Auth is the first.", record("auth"), step=2),
    )
    body = await asked.ask()
    assert "no record of 3 of the 4 rows of step 1" in told_in(asked.model.talks[2])[-1]
    assert (body["query"]["sparql"].endswith(top), body["result"]["row_page"]["total"]) == (True, 1)


@requirement("ask.citations-match-rows")
@pytest.mark.parametrize(
    ("query", "cited"),
    [
        (COUNT, ["payments", "identity"]),
        ("SELECT ?s WHERE { ?s p:team e:payments } ORDER BY ?s", ["risk", "ledger", "payments"]),
        ("SELECT ?s ?t WHERE { ?s p:team ?t } ORDER BY ?s", ["payments", "identity"]),
        (
            "SELECT ?t (GROUP_CONCAT(?l) AS ?all) WHERE { ?s p:team ?t ; rdfs:label ?l } GROUP BY ?t",
            ["payments", "identity"],
        ),
        ("ASK { e:risk p:tier 1 }", ["risk"]),
        (TOTAL, []),
        (COUNT, []),
    ],
)
async def test_answers_that_fit_their_rows_do_not_go_back(asked: Asker, query: str, cited: list[str]) -> None:
    asked.model.turns(sparql(query), answer("So it is.", *records(*cited)))
    body = await asked.ask("What does the payments team run, and is risk-service of tier 1?")
    assert body["answer"]["citations"] == records(*cited)
    assert len(asked.model.talks) == 2


@requirement("ask.labels-are-cited")
async def test_labels_without_a_citation_send_the_answer_back_once(asked: Asker) -> None:
    asked.model.turns(sparql(COUNT), answer("The Payments team runs two."), answer("The Payments team.", *TEAMS))
    body = await asked.ask()
    assert "cites none of them" in told_in(asked.last)[-1]
    assert (body["answer"]["citations"], len(body["steps"])) == (TEAMS, 1)


# The step and its chart


@pytest.mark.parametrize(("step", "rows"), [(1, 2), (2, 1), (None, 1), (9, 1), (3, 1)])
async def test_the_rows_are_those_of_the_named_step_else_of_the_last_that_ran(
    asked: Asker, step: int | None, rows: int
) -> None:
    asked.model.turns(sparql(COUNT), sparql(TOTAL), sparql(BROKEN), answer("So it is.", step=step))
    assert (await asked.ask())["result"]["row_page"]["total"] == rows


@requirement("chart.fields", "chart.checked")
@pytest.mark.parametrize(
    ("hint", "chart"),
    [
        ({"kind": "bar", "x": "l", "y": "n"}, {"kind": "bar", "x": "l", "y": "n"}),
        ({"kind": "bar", "x": "l", "y": "missing"}, None),
        ({"kind": "pie", "x": "l", "y": "n"}, None),
        ("bar", None),
    ],
)
async def test_a_chart_comes_with_the_answer_where_it_fits(asked: Asker, hint: object, chart: object) -> None:
    asked.model.turns(sparql(COUNT), answer("Two each.", *TEAMS, chart=hint))
    body = await asked.ask()
    assert body["answer"].get("chart") == chart
    assert body["answer"]["text"] == "Two each."


@requirement("ask.records-a-trace")
async def test_an_answer_leaves_a_trace(asked: Asker) -> None:
    asked.model.turns(sparql(COUNT), answer("Two each.", *TEAMS))
    body = await asked.ask("How many services does each team run?", context="Teams own services.")
    dataset = await asked.core.graph.dataset(USER, GRAPH)
    assert dataset
    trace = await asked.core.evals.trace(dataset, body["result"]["trace_id"])
    assert trace
    assert (trace.request, trace.sparql) == ("How many services does each team run?", body["query"]["sparql"])
    assert trace.surface == "ask"
    assert trace.ask
    assert (trace.ask.context, trace.ask.route) == ("Teams own services.", "lookup")
