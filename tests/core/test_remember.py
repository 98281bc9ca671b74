"""remember: what is read, compared and stored."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from core.core import Core
from core.errors import ModelFailed, ModelOverloaded
from core.inferences import Inference, Usage
from core.ports import Completion, Complexity, Reply
from gligabao_mcp.errors import failure
from gligabao_mcp.operations import REMEMBER, execute, parse
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from tests.conftest import Opener, Tables
from tests.facts import ALICE_WORKS_AT_ACME, answer, ask, edge, graph, tell, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

EVERY_FACT = ("gb_datasets", "gb_artifacts", "gb_entities", "gb_edges", "gb_entity_artifacts", "gb_vector_outbox")


def completion(text: str, stop: str = "finished") -> Completion:
    """An answer of the scripted model with a stop reason of its own."""
    inference = Inference("scripted", "scripted-1", "scripted-1", Usage(input=100, output=4096), stop_reason=stop)
    return Completion(
        text, inference, "truncated" if stop == "max_tokens" else "refused" if stop == "refusal" else "finished"
    )


# What is told, and what comes back ------------------------------------------------------------------------------------


@requirement(
    "overview.text-becomes-facts",
    "remember.run-id",
    "remember.artifact-fields",
    "remember.kind-kept",
    "remember.session-id-echoed",
    "remember.entities-normalized",
    "remember.edges-as-stored",
    "remember.edge-nulls-omitted",
    "remember.invalidated-edges",
    "remember.extract-one-call",
    "remember.extract-fields",
    "remember.call-count",
    "remember.valid-at-default",
    "remember.reference-time-resolves-dates",
    "temporal.event-time",
    "temporal.system-time",
)
async def test_a_told_text_is_kept_and_becomes_dated_facts(plain: Core, model: ScriptedModel, tables: Tables) -> None:
    now = datetime(2026, 11, 29, 18, tzinfo=UTC)
    works = edge("Alice", "Works At", "Acme", description="Alice works at Acme.", valid_at="2025-01-31T09:00:00Z")
    lived = edge("Alice", "lived in", "Paris", invalid_at="2024-06-30")
    model.replies(graph("Alice:Person:an engineer", "`Acme`:", "Paris:CITY", edges=[works, lived]))
    told = await tell(
        replace(plain, clock=lambda: now),
        "Alice works at Acme; she lived in Paris.",
        kind="Episode",
        reference_time="2025-02-01T10:00:00+02:00",
        session_id="s1",
    )
    body = told.body()
    common = {"source_id": 1, "source": "Alice", "artifact_id": 1, "created_at": "2026-11-29T18:00:00Z"}
    assert body == {
        "remember_run_id": 1,
        "artifact_id": 1,
        "kind": "episode",
        "session_id": "s1",
        "valid_at": "2025-02-01T08:00:00Z",
        "created_at": "2026-11-29T18:00:00Z",
        "reference_time_source": "request",
        "entities": [
            {"id": 1, "name": "Alice", "type": "person", "description": "an engineer"},
            {"id": 2, "name": "Acme", "type": "other"},
            {"id": 3, "name": "Paris", "type": "city"},
        ],
        "edges": [
            common
            | {"id": body["edges"][0]["id"], "target_id": 2, "target": "Acme", "relation": "works_at"}
            | {"description": "Alice works at Acme.", "valid_at": "2025-01-31T09:00:00Z"},
            common
            | {"id": body["edges"][1]["id"], "target_id": 3, "target": "Paris", "relation": "lived_in"}
            | {"valid_at": "2024-06-29T22:00:00Z", "invalid_at": "2024-06-29T22:00:00Z"},
        ],
        "invalidated_edges": [],
    }
    (prompt,) = model.prompts
    assert prompt.max_tokens == 4096
    assert "<text>Alice works at Acme; she lived in Paris.</text>" in prompt.user
    assert "<reference_time>2025-02-01T10:00:00+02:00</reference_time>" in prompt.user
    assert prompt.schema["properties"].keys() == {"entities", "edges"}
    assert tables.rows("SELECT id, kind FROM gb_artifacts") == [{"id": 1, "kind": "episode"}]
    assert tables.rows("SELECT id, status, artifact_id FROM gb_remember_runs") == [
        {"id": 1, "status": "succeeded", "artifact_id": 1}
    ]


@requirement("remember.dataset-created", "remember.session-id-echoed", "remember.kind-changes-nothing")
async def test_a_text_alone_goes_to_main_as_knowledge_of_now(plain: Core, model: ScriptedModel, tables: Tables) -> None:
    """C017: without a reference time the time of receipt counts, and the reply says so."""
    now = datetime(2026, 6, 10, 8, tzinfo=UTC)
    core = replace(plain, clock=lambda: now)
    failed = edge("sensors", "failed", "pump", description="The sensors failed yesterday.", valid_at="2026-06-09")
    model.replies(*[graph("sensors", edges=[failed])] * 2)
    told = await tell(core, "The sensors failed yesterday.")
    assert (told.kind, told.valid_at, told.reference_time_source) == ("knowledge", now, "server")
    assert "session_id" not in told.body()
    assert told.edges[0].valid_at == datetime(2026, 6, 9, tzinfo=UTC)
    assert told.edges[0].description == "The sensors failed yesterday."
    assert tables.rows("SELECT user_id, name FROM gb_datasets") == [{"user_id": "u1", "name": "main"}]
    other = await tell(core, "The sensors failed yesterday.", kind="episode", dataset="other")
    assert model.prompts[0] == model.prompts[1]
    assert [e.relation for e in other.edges] == [e.relation for e in told.edges]


@requirement("remember.same-text-twice", "remember.repeated-fact-merged", "remember.exact-repeats-by-code")
async def test_the_same_text_twice_adds_no_second_fact(core: Core, model: ScriptedModel, tables: Tables) -> None:
    """C040: what was answered from memory and is told again multiplies nothing, and nobody is asked to compare."""
    model.replies(ALICE_WORKS_AT_ACME, ALICE_WORKS_AT_ACME)
    first = await tell(core)
    again = await tell(core, session_id="s2")
    assert again.edges == first.edges
    assert again.entities == first.entities
    assert again.artifact_id != first.artifact_id
    assert again.invalidated_edges == []
    assert (tables.count("gb_entities"), tables.count("gb_edges"), tables.count("gb_artifacts")) == (2, 1, 2)
    assert (tables.count("gb_entity_artifacts"), tables.count("gb_edge_artifacts")) == (4, 2)
    assert (tables.count("gb_entity_sessions"), tables.count("gb_edge_sessions")) == (2, 1)
    assert len(model.prompts) == 2


@requirement(
    "temporal.closed-not-deleted",
    "temporal.system-time",
    "remember.invalidated-edges",
    "remember.model-flags-the-rest",
    "remember.resolve-only-if-needed",
    "remember.call-count",
    "remember.embedding-request-count",
    "embed.counts",
)
async def test_a_contradicted_fact_is_closed(core: Core, model: ScriptedModel, embedder: HashEmbedder) -> None:
    paris = edge("Alice", "lives_in", "Paris", valid_at="2025-01-10")
    berlin = edge("Alice", "lives_in", "Berlin", valid_at="2026-03")
    model.replies(graph("Alice:person", "Paris:city", edges=[paris]))
    first = await tell(core, "Alice lives in Paris.")
    assert (len(model.prompts), embedder.calls) == (1, 1)
    model.replies(
        graph("Alice:person", "Berlin:city", edges=[berlin]),
        verdicts(verdict(contradicts=[first.edges[0].id])),
        answer("Berlin", edges=[2]),
    )
    second = await tell(core, "Alice moved to Berlin in March 2026.")
    assert second.invalidated_edges == [first.edges[0].id]
    assert (second.embedded_entities, second.embedded_edges) == (2, 1)
    assert [p.schema_name for p in model.prompts] == ["extract_graph", "extract_graph", "resolve_edges"]
    assert embedder.calls == 3
    asked = await ask(core, "Where does Alice live?")
    assert [e.target for e in asked.evidence.edges] == ["Berlin"]
    assert embedder.calls == 3
    known = {e.target: e for e in (await ask(core, "Alice", answer=False)).evidence.edges}
    assert known["Paris"].invalid_at == datetime(2026, 3, 1, tzinfo=UTC)
    assert known["Paris"].expired_at == known["Berlin"].created_at
    assert known["Paris"].created_at == first.created_at
    assert known["Berlin"].expired_at is None


@requirement("remember.resolve-only-if-needed", "candidates.new-dataset-none")
async def test_unrelated_facts_and_many_valued_ones_retire_nobody(plain: Core, model: ScriptedModel) -> None:
    """C013, C022: without a common name nobody is even asked; a second value of many is none against the first."""
    model.replies(graph(edges=[edge("Nia", "prefers", "tabs")]), graph(edges=[edge("parser", "prefers", "schemas")]))
    await tell(plain, "Nia prefers tabs.")
    told = await tell(plain, "The parser prefers explicit schemas.")
    assert told.invalidated_edges == []
    assert [p.schema_name for p in model.prompts] == ["extract_graph", "extract_graph"]
    many = [("speaks", "French", "Polish"), ("knows", "Bo", "Cy"), ("owns", "kiln", "loom"), ("likes", "tea", "rain")]
    for relation, one, other in many:
        model.replies(graph(edges=[edge("Ana", relation, one)]))
        await tell(plain, f"Ana {relation} {one}.", dataset=relation)
        model.replies(graph(edges=[edge("Ana", relation, other)]), verdicts(verdict()))
        told = await tell(plain, f"Ana {relation} {other}.", dataset=relation)
        assert told.invalidated_edges == []
        shown = await ask(plain, "Ana", dataset=relation, answer=False)
        assert {(e.target, e.invalid_at) for e in shown.evidence.edges} == {(one, None), (other, None)}


@requirement("remember.dataset-isolates", "candidates.same-dataset")
async def test_nothing_crosses_the_border_of_a_user_or_a_dataset(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    """C011."""
    runs = {"ops": ("u1", "main"), "sales": ("u2", "main"), "stock": ("u1", "shop")}
    for what, (user, dataset) in runs.items():
        model.replies(graph("Ines:person", edges=[edge("Ines", "runs", what)]))
        told = await tell(core, f"Ines runs {what}.", user_id=user, dataset=dataset)
        assert told.invalidated_edges == []
    assert {p.schema_name for p in model.prompts} == {"extract_graph"}
    assert len(tables.rows("SELECT id FROM gb_entities WHERE name = 'Ines'")) == 3
    for what, (user, dataset) in runs.items():
        asked = await ask(core, "What does Ines run?", user, dataset=dataset, answer=False)
        assert [e.target for e in asked.evidence.edges] == [what]


# Time -----------------------------------------------------------------------------------------------------------------


@requirement("remember.valid-at-default", "remember.reference-time-format", "remember.reference-time-resolves-dates")
async def test_every_time_is_kept_in_utc_however_it_was_given(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    """C014, C016: a time without a zone is UTC and noted; a fact without a date began at the reference time."""
    given = {
        "2026-03-01T10:00:00": "2026-03-01T10:00:00Z",
        "2026-03-01T12:00:00+05:30": "2026-03-01T06:30:00Z",
        "2019-02-03T04:05:06Z": "2019-02-03T04:05:06Z",
        "2026-03-01T10:00:00.000001-11:00": "2026-03-01T21:00:00.000001Z",
    }
    for number, (stated, kept) in enumerate(given.items()):
        model.replies(graph(edges=[edge("Bo", "owns", f"garage {number}")]))
        told = (await tell(plain, reference_time=stated, user_id=f"u{number}")).body()
        assert told["valid_at"] == told["edges"][0]["valid_at"] == kept
        noted = told.get("warnings", [])
        assert noted == (["reference_time has no zone and was read as UTC"] if len(stated) == 19 else [])
    in_order = tables.rows("SELECT id FROM gb_artifacts ORDER BY valid_at")
    assert [row["id"] for row in in_order] == [3, 2, 1, 4]


@requirement("temporal.event-time")
async def test_what_begins_and_ends_in_one_year_holds_inside_it(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    """C019."""
    model.replies(
        graph(edges=[edge("Ola", "works_at", "Nord", description="Ola joined Nord in 2019.", valid_at="2019")])
    )
    joined = await tell(plain, "Ola joined Nord in 2019.")
    model.replies(graph(edges=[edge("Ola", "works_at", "Nord", description="Ola left in 2019.", invalid_at="2019")]))
    left = await tell(plain, "Ola left Nord in 2019.")
    assert left.invalidated_edges == [joined.edges[0].id]
    (fact,) = left.edges
    assert fact.invalid_at == datetime(2019, 12, 31, 23, 59, 59, 999999, UTC)
    assert fact.expired_at is None
    for day, holds in {"2018-12-31": 0, "2019-01-01": 1, "2019-06-15": 1, "2019-12-31": 1, "2020-01-01": 0}.items():
        asked = await ask(plain, "Where does Ola work?", answer=False, as_of=day)
        assert len(asked.evidence.edges) == holds, day
    assert tables.rows("SELECT valid_precision FROM gb_edges") == [{"valid_precision": "year"}]


@pytest.mark.parametrize(
    ("valid_at", "invalid_at"),
    [("2026-01-01", "2020-01-01"), ("2026", "2025-12"), ("2026-01-01", "2026-01-01")],
    ids=["inverted", "inverted years", "empty"],
)
async def test_an_empty_or_inverted_interval_closes_nothing(
    plain: Core, model: ScriptedModel, valid_at: str, invalid_at: str
) -> None:
    """C020."""
    model.replies(graph(edges=[edge("Ola", "works_at", "Nord", valid_at="2018")]))
    nord = (await tell(plain, "Ola works at Nord.")).edges[0]
    model.replies(
        graph(edges=[edge("Ola", "works_at", "Sud", valid_at=valid_at, invalid_at=invalid_at)]),
        verdicts(verdict(contradicts=[nord.id])),
    )
    told = await tell(plain, "Ola worked at Sud.")
    assert told.invalidated_edges == []
    shown = {e.target: e for e in (await ask(plain, "Ola", answer=False)).evidence.edges}
    assert shown["Nord"] == nord.model_copy(update={"description": shown["Nord"].description})
    assert shown["Sud"].invalid_at in (None, shown["Sud"].valid_at)


@requirement("remember.repeated-fact-merged", "store.edge-links")
async def test_a_merged_fact_keeps_its_start_and_each_artifact_its_own_time(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    """C023: the earliest start, and never null over a date."""
    model.replies(*[graph(edges=[edge("Bo", "owns", "kiln")])] * 2)
    first = await tell(plain, "Bo owns a kiln.", reference_time="2023-01-01T00:00:00Z")
    again = await tell(plain, "Bo owns a kiln.", reference_time="2024-01-01T00:00:00Z")
    assert again.edges == first.edges
    assert again.edges[0].valid_at == datetime(2023, 1, 1, tzinfo=UTC)
    linked = "SELECT a.id FROM gb_edge_artifacts l JOIN gb_artifacts a ON a.id = l.artifact_id ORDER BY a.valid_at"
    assert [row["id"] for row in tables.rows(linked)] == [first.artifact_id, again.artifact_id]
    assert (first.valid_at, again.valid_at) == (datetime(2023, 1, 1, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC))
    model.replies(graph(edges=[edge("Bo", "owns", "kiln", valid_at="2019")]))
    (fact,) = (await tell(plain, "Bo has owned a kiln since 2019.")).edges
    assert (fact.id, fact.valid_at) == (first.edges[0].id, datetime(2019, 1, 1, tzinfo=UTC))


# What the model hands back --------------------------------------------------------------------------------------------


@requirement("remember.extract-json-only", "remember.model-flags-the-rest")
async def test_an_odd_answer_is_read_as_far_as_it_can_be(plain: Core, model: ScriptedModel) -> None:
    """C025, C026, C028, C029, C031, C032: one story after the other, each in a dataset of its own."""
    visited = '{"source":"Ivo","target":"Rome","relation":"visited"}'
    model.replies(f'Based on {{travel}} notes:\n```json\n{{"entities":[],"edges":[{visited}]}}\n```')
    told = await tell(plain, "Ivo visited Rome.", dataset="chatter")
    assert [(e.source, e.relation, e.target) for e in told.edges] == [("Ivo", "visited", "Rome")]

    model.replies('{"entities":[{"name":"caf\\ud83d","type":"other"}],"edges":[]}')
    told = await tell(plain, "caf?", dataset="escapes")
    assert [e.name for e in told.entities] == ["caf\ufffd"]

    model.replies(f"[{visited}]")
    told = await tell(plain, "Ivo visited Rome.", dataset="bare")
    assert len(told.edges) == 1

    twice = edge("Ivo", "works_at", "Nord")
    model.replies(graph("Ivo:person", edges=[twice, twice, edge("Ivo", "likes", "  "), edge("ivo", "visited", "Rome")]))
    told = await tell(plain, "Ivo works at Nord and saw Rome.", dataset="edges")
    assert [(e.source, e.relation, e.target) for e in told.edges] == [
        ("Ivo", "works_at", "Nord"),
        ("Ivo", "visited", "Rome"),
    ]
    assert told.body()["warnings"] == ["left out an edge without a source, a target or a relation"]
    assert [e.name for e in told.entities] == ["Ivo"]
    ids = {e.target: e.id for e in told.edges}
    kept = (await ask(plain, "What is there?", dataset="edges", answer=False)).evidence
    assert {(e.name, e.type) for e in kept.entities} == {("Ivo", "person"), ("Nord", "other"), ("Rome", "other")}

    said = {"duplicates": [{"new": 0, "old": 99999}], "contradictions": [str(ids["Nord"]), -1]}
    model.replies(graph(edges=[edge("Ivo", "works_at", "Sud")]), said)
    told = await tell(plain, "Ivo works at Sud.", dataset="edges")
    assert told.invalidated_edges == [ids["Nord"]]
    assert told.body()["warnings"] == ["left out 2 items of the model's answer that did not fit"]


@requirement(
    "remember.failure-stores-nothing", "remember.model-failure", "inferences.recorded", "models.name-not-checked"
)
async def test_a_reading_that_fails_stores_nothing_and_its_cost_is_kept(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    """C029, C034, C035: wrong keys, babble to the limit, a refusal; each its own outcome, never an empty success."""
    babble = completion('{"entities":[{"name":"' + "x" * 5000, "max_tokens")
    said_no = completion("I can't help with that.", "refusal")
    unknown_model = ModelFailed("no model 'm-9' (404)", inferences=[Inference("scripted", "m-9", "m-9", error="404")])
    overloaded = ModelOverloaded("overloaded", inferences=[Inference("scripted", "m-1", "m-1", error="overloaded")])
    wrong = {"memories": [{"fact": "Ivo visited Rome"}]}
    stories: list[tuple[str, int, list[Completion | Exception | dict[str, object]]]] = [
        ("the model's answer was truncated", 2, [babble, babble]),
        ("the model refused to answer", 1, [said_no]),
        ("the model's answer could not be parsed", 2, [dict(wrong), dict(wrong)]),
        ("the model's answer could not be parsed", 2, [completion("Sorry, nothing."), completion("{}")]),
        ("the model's answer was empty", 2, [completion(""), completion(" ")]),
        ("no model 'm-9' (404)", 1, [unknown_model]),
        ("overloaded", 1, [overloaded]),
    ]
    for run, (message, calls, replies) in enumerate(stories, 1):
        before = tables.count("gb_inferences")
        model.replies(*replies)
        with pytest.raises(ModelFailed) as failed:
            await tell(core, models={"extract_graph": "m-9"})
        assert failed.value.message == message
        assert failure(failed.value).numbers.status == 502
        assert [tables.count(table) for table in EVERY_FACT] == [0] * len(EVERY_FACT), message
        assert tables.count("gb_inferences") - before == calls
        (row,) = tables.rows("SELECT status, error, artifact_id FROM gb_remember_runs WHERE id = :run", run=run)
        assert row == {"status": "failed", "error": message, "artifact_id": None}
    (spent,) = tables.rows("SELECT sum(output_tokens) AS tokens FROM gb_inferences WHERE run_id = 1")
    assert spent["tokens"] == 2 * 4096
    model.replies(completion(""), ALICE_WORKS_AT_ACME)
    assert (await tell(core)).edges


@requirement("remember.failure-stores-nothing")
async def test_a_comparison_that_fails_closes_and_deletes_nothing(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    """C037."""
    model.replies(graph(edges=[edge("Alice", "lives_in", "Paris", valid_at="2025")]))
    await tell(plain, "Alice lives in Paris.")
    before = tables.rows("SELECT * FROM gb_edges"), tables.rows("SELECT * FROM gb_entities")
    for useless in ({"oops": True}, "They contradict.", {"results": [{"new": 7, "contradicts": [1]}]}):
        model.replies(graph(edges=[edge("Alice", "lives_in", "Berlin", valid_at="2026")]), useless, useless)
        with pytest.raises(ModelFailed):
            await tell(plain, "Alice lives in Berlin.")
        assert (tables.rows("SELECT * FROM gb_edges"), tables.rows("SELECT * FROM gb_entities")) == before
    assert tables.count("gb_artifacts") == 1
    stages = tables.rows("SELECT stage, status FROM gb_remember_run_stages WHERE run_id = 2 ORDER BY stage")
    assert [(row["stage"], row["status"]) for row in stages] == [
        ("extract_graph", "succeeded"),
        ("load_candidates", "succeeded"),
        ("resolve_edges", "failed"),
    ]


async def test_names_that_the_text_does_not_hold_are_dropped_where_that_is_wanted(
    opened: Opener, model: ScriptedModel
) -> None:
    """C038."""
    async with opened(require_names_in_text=True) as core:
        model.replies(graph("John Doe:person", edges=[edge("John Doe", "works_at", "Acme")]))
        told = await tell(core, "ok, thanks")
        assert (told.entities, told.edges) == ([], [])
        assert told.warnings == ["left out 2 entities and facts with names that the text does not hold"]
        model.replies(graph("user:person", edges=[edge("user", "likes", "Tea")]))
        assert [e.target for e in (await tell(core, "I like tea.")).edges] == ["Tea"]


# The text itself ------------------------------------------------------------------------------------------------------


async def test_what_no_database_takes_is_removed_and_said(plain: Core, model: ScriptedModel, tables: Tables) -> None:
    """C044, C046: in the text and in what the model writes, through every way in."""
    reading = graph("Lim\x00oges:ci\x00ty", edges=[edge("Lim\x00oges", "ma\x00kes", "caf\ud83d", description="\x00!")])
    model.replies(reading, reading, graph("porcelain"))
    told = await tell(plain, "Lim\x00oges makes porcelain.")
    assert told.body()["warnings"] == ["removed 1 NUL character"]
    assert [(e.name, e.type) for e in told.entities] == [("Limoges", "city")]
    assert [(e.relation, e.target) for e in told.edges] == [("makes", "caf\ufffd")]
    asked = {"user_id": "u1", "text": "Lim\x00oges makes caf\ud83d.", "session_id": "s\ud83d"}
    body = await execute(REMEMBER, plain, parse(REMEMBER, asked))
    assert body["warnings"] == ["removed 1 NUL character", "replaced 2 lone surrogates"]
    assert body["session_id"] == "s\ufffd"
    texts = [row["text"] for row in tables.rows("SELECT text FROM gb_artifacts ORDER BY id")]
    assert texts == ["Limoges makes porcelain.", "Limoges makes caf\ufffd."]
    assert "\x00" not in model.prompts[0].user


@requirement("store.artifact-row")
async def test_code_is_kept_byte_for_byte_and_its_names_without_backticks(
    plain: Core, model: ScriptedModel, tables: Tables
) -> None:
    """C047."""
    note = '`add_episode()` in `core.py` calls `resolve()`:\r\n```python\nx = {"a": [1,2]}\t\n```\n  \n'
    model.replies(
        graph("`add_episode()`:function", '"core.py":file', edges=[edge("`add_episode()`", "calls", "`resolve()`")])
    )
    told = await tell(plain, note)
    assert tables.rows("SELECT text FROM gb_artifacts") == [{"text": note}]
    assert [e.name for e in told.entities] == ["add_episode()", "core.py"]
    asked = await ask(plain, "What does add_episode call?", answer=False)
    assert [e.target for e in asked.evidence.edges] == ["resolve()"]


@pytest.mark.parametrize("lines", [1, 4000], ids=["in one piece", "cut into lines"])
async def test_an_encoded_file_is_kept_but_nobody_is_paid_to_read_it(
    core: Core, model: ScriptedModel, embedder: HashEmbedder, tables: Tables, lines: int
) -> None:
    """C049."""
    text = "data:image/png;base64," + ("\n" if lines > 1 else "").join(["iVBORw0KGgo" * 7] * 4000)
    told = await tell(core, text)
    assert (told.entities, told.edges, len(model.prompts), embedder.calls) == ([], [], 0, 0)
    assert told.warnings == ["the text looks like encoded or binary data: it is kept, but no facts were read from it"]
    assert tables.rows("SELECT text FROM gb_artifacts") == [{"text": text}]
    assert (await tell(core, text)).artifact_id == told.artifact_id + 1


async def test_a_secret_is_masked_before_it_goes_anywhere_where_that_is_wanted(
    opened: Opener, model: ScriptedModel, embedder: HashEmbedder, tables: Tables
) -> None:
    """C053."""
    key = "sk-test-51H8ABCDEFGHIJKLMNOP"
    async with opened(mask_secrets=True) as core:
        model.replies(graph(edges=[edge("staging key", "rotates", "monthly", description="Rotation is monthly.")]))
        told = await tell(core, f"The staging key is {key} and rotation is monthly.")
        assert told.warnings == ["masked 1 secret"]
        await tell(core, "Given.", edges=[edge("the key", "is", key, description=f"The key is {key}.")])
        model.replies(graph("build"))
        untouched = await tell(core, "No API key in the build.")
        assert untouched.warnings is None
    texts = [row["text"] for row in tables.rows("SELECT text FROM gb_artifacts ORDER BY id")]
    assert texts == [
        "The staging key is [API key] and rotation is monthly.",
        "Given.",
        "No API key in the build.",
    ]
    everything = [
        model.prompts,
        embedder.batches,
        *(tables.rows(f"SELECT * FROM {t}") for t in (*EVERY_FACT, "gb_remember_runs")),
    ]
    assert key not in repr(everything)
    async with opened() as core:
        model.replies(graph())
        await tell(core, f"The staging key is {key}.")
    assert key in repr(tables.rows("SELECT text FROM gb_artifacts"))


# How complex a text is, as a quick model predicts ---------------------------------------------------------------------


class Predictor:
    """A decision model that gives the replies it was told to give."""

    model = "predictor-1"

    def __init__(self, *replies: Reply[Complexity] | ModelFailed) -> None:
        self.replies = list(replies)
        self.texts: list[str] = []

    async def classify_complexity(self, text: str) -> Reply[Complexity]:
        self.texts.append(text)
        reply = self.replies.pop(0)
        if isinstance(reply, ModelFailed):
            raise reply
        return reply


@requirement(
    "remember.complexity-classes",
    "remember.complexity-needs-key",
    "remember.complexity-kept",
    "remember.complexity-advisory",
    "remember.complexity-always-jev",
    "runlog.advisory-stage",
)
async def test_complexity_is_predicted_logged_and_never_in_the_way(
    plain: Core, model: ScriptedModel, tables: Tables, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "core.remember")
    call = Inference("jev", "jev-1", "jev-1", Usage(input=9), latency_ms=12)
    simple = Complexity("simple", 0.91, {"simple": 0.91, "medium": 0.08, "complex": 0.01})
    down = ModelFailed("Jev is down", inferences=[Inference("jev", "jev-1", "jev-1", error="Jev is down")])
    predictor = Predictor(Reply(simple, (call,)), down)
    core = replace(plain, decide=predictor)
    model.replies(graph("Bo"), graph("Bo"), graph("Bo"))
    for _ in range(2):
        assert (await tell(core, "Bo.")).entities
    await tell(plain, "Bo.")
    assert predictor.texts == ["Bo.", "Bo."]
    assert caplog.messages == [
        "text complexity: simple, confidence 0.91, 12 ms",
        "text complexity is not known: Jev is down",
    ]
    stages = tables.rows(
        "SELECT status, error FROM gb_remember_run_stages WHERE stage = 'classify_complexity' ORDER BY run_id"
    )
    assert stages == [{"status": "succeeded", "error": None}, {"status": "failed", "error": "Jev is down"}]
    assert [row["status"] for row in tables.rows("SELECT status FROM gb_remember_runs")] == ["succeeded"] * 3
    calls = tables.rows("SELECT stage, model, error FROM gb_inferences WHERE provider = 'jev' ORDER BY id")
    assert calls == [
        {"stage": "classify_complexity", "model": "jev-1", "error": None},
        {"stage": "classify_complexity", "model": "jev-1", "error": "Jev is down"},
    ]
