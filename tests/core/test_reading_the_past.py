"""as_of and known_at: what was true at a time, and what was known at a time."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from core.config import Config
from core.core import Core
from core.engine import NoEngine
from core.query.query import NOTHING_KNOWN
from gligabao_mcp.providers.scripted import ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from tests.facts import answer, ask, edge, tell, tell_facts, verdict, verdicts
from tests.requirements import requirement

pytestmark = pytest.mark.anyio


def at(core: Core, time: str) -> Core:
    """The same memory, as it is used at that time."""
    moment = datetime.fromisoformat(time).replace(tzinfo=UTC)
    return replace(core, clock=lambda: moment)


@dataclass(frozen=True)
class Facts:
    """The facts that a question about Alice finds, each as `target from..to`, `!` behind one that was superseded."""

    core: Core

    async def __call__(self, **times: Any) -> set[str]:
        found = await ask(self.core, "What about Alice?", answer=False, **times)
        return {
            f"{e.target} {e.valid_at:%Y-%m-%d}..{f'{e.invalid_at:%Y-%m-%d}' if e.invalid_at else ''}"
            + ("!" if e.expired_at else "")
            for e in found.evidence.edges
        }


@pytest.fixture
async def facts(plain: Core, model: ScriptedModel) -> AsyncGenerator[Facts]:
    """Alice, in four tellings: a home that changed, and a job whose start and end were learned later."""
    paris = edge("Alice", "lives_in", "Paris", valid_at="2025-01-10", description="Alice lives in Paris.")
    await tell(
        at(plain, "2025-01-15"),
        entities=[{"name": "Alice", "type": "person", "description": "keeps bees"}],
        edges=[paris, edge("Alice", "works_at", "Acme")],
    )
    model.replies(verdicts(verdict(contradicts=[1])))
    await tell(
        at(plain, "2026-04-01"),
        entities=[{"name": "Alice", "type": "person", "description": "sells honey"}],
        edges=[edge("Alice", "lives_in", "Berlin", valid_at="2026-03-01")],
    )
    await tell_facts(at(plain, "2026-05-01"), edge("Alice", "works_at", "Acme", valid_at="2024-02-01"))
    await tell_facts(
        at(plain, "2026-06-01"),
        edge("Alice", "works_at", "Acme", valid_at="2024-02-01", invalid_at="2026-05-31"),
    )
    yield Facts(at(plain, "2026-07-01"))


PARIS, BERLIN, ACME = "Paris 2025-01-10..2026-03-01!", "Berlin 2026-03-01..", "Acme 2024-02-01..2026-05-31"


@requirement("temporal.event-time", "temporal.closed-not-deleted")
async def test_as_of_keeps_what_was_true_in_the_world(facts: Facts) -> None:
    assert await facts() == {PARIS, BERLIN, ACME}
    assert await facts(as_of="2024-01-31") == set()
    assert await facts(as_of="2024-06") == {ACME}
    assert await facts(as_of="2025-06-01") == {PARIS, ACME}
    # An interval holds from its first instant and no longer at its last.
    assert await facts(as_of="2026-02-28T23:59:59.999999Z") == {PARIS, ACME}
    assert await facts(as_of="2026-03-01T00:00:00Z") == {BERLIN, ACME}
    assert await facts(as_of="2026-03-01T00:30:00+01:00") == {PARIS, ACME}
    assert await facts(as_of="2026-05-31") == {BERLIN}
    assert await facts(as_of="2030") == {BERLIN}
    assert await facts(as_of=datetime(2026, 3, 1)) == {BERLIN, ACME}  # without a zone: UTC
    # The entities are there all the same: a question about Alice is still about her.
    found = await ask(facts.core, "What about Alice?", answer=False, as_of="2024-01-31")
    assert [(e.name, e.description) for e in found.evidence.entities] == [("Alice", "sells honey")]


@requirement("temporal.system-time", "temporal.event-time")
async def test_known_at_shows_every_fact_as_it_was_then(facts: Facts) -> None:
    # Paris had no end then, and nobody had said since when Alice works at Acme.
    assert await facts(known_at="2025-06-01") == {"Paris 2025-01-10..", "Acme 2025-01-15.."}
    assert await facts(known_at="2026-03-31") == {"Paris 2025-01-10..", "Acme 2025-01-15.."}
    assert await facts(known_at="2026-04-15") == {PARIS, BERLIN, "Acme 2025-01-15.."}
    assert await facts(known_at="2026-05-15") == {PARIS, BERLIN, "Acme 2024-02-01.."}
    assert await facts(known_at="2026-06-15") == {PARIS, BERLIN, ACME}
    # What is written at an instant is known at that instant.
    assert await facts(known_at="2026-04-01T00:00:00Z") == {PARIS, BERLIN, "Acme 2025-01-15.."}
    assert await facts(known_at="2026-03-31T23:59:59.999999Z") == {"Paris 2025-01-10..", "Acme 2025-01-15.."}
    assert await facts(known_at="2025-01-14") == set()


@requirement("temporal.system-time", "temporal.event-time")
async def test_both_times_together_say_what_was_then_believed_of_then(facts: Facts) -> None:
    # In June 2025 we thought that Alice would live in Paris for good.
    assert await facts(as_of="2026-06-15", known_at="2025-06-01") == {"Paris 2025-01-10..", "Acme 2025-01-15.."}
    assert await facts(as_of="2024-06-01", known_at="2026-04-15") == set()
    assert await facts(as_of="2024-06-01", known_at="2026-05-15") == {"Acme 2024-02-01.."}
    assert await facts(as_of="2026-04-01", known_at="2026-04-15") == {BERLIN, "Acme 2025-01-15.."}
    assert await facts(as_of="2026-06-15", known_at="2026-05-15") == {BERLIN, "Acme 2024-02-01.."}


@requirement("temporal.system-time")
async def test_entities_are_known_and_described_as_they_were_then(facts: Facts, model: ScriptedModel) -> None:
    async def described(question: str, **times: Any) -> dict[str, str | None]:
        found = await ask(facts.core, question, answer=False, **times)
        return {e.name: e.description for e in found.evidence.entities}

    then = {"Alice": "keeps bees", "Paris": None, "Acme": None}
    assert await described("Alice", known_at="2025-06-01") == then
    assert await described("Alice", known_at="2026-04-01") == {
        "Alice": "sells honey",
        "Paris": None,
        "Acme": None,
        "Berlin": None,
    }
    # They are found by what was said of them then, and Berlin by nothing before it was heard of.
    await tell_facts(
        at(facts.core, "2026-06-20"), edge("Bees United", "is", "a club"), edge("Honey Ltd", "is", "a shop")
    )
    assert "Alice" not in await described("Who keeps bees?")
    assert "Alice" in await described("Who sells honey?", known_at="2026-06-25")
    assert await described("Who keeps bees?", known_at="2025-06-01") == then
    assert await described("Berlin", known_at="2025-06-01") == then  # nothing matches: the most recent ones
    assert await described("Alice", known_at="2025-01-01") == {}
    prompts = len(model.prompts)
    response = await ask(facts.core, "Where does Alice live?", known_at="2025-01-01")
    assert response.answer == NOTHING_KNOWN
    assert len(model.prompts) == prompts


@requirement("query.sends-current-time")
async def test_a_question_about_a_time_is_answered_at_that_time(facts: Facts, model: ScriptedModel) -> None:
    model.replies(answer("In Paris.", edges=[1]), answer("In Berlin.", edges=[3]))
    response = await ask(facts.core, "Where does Alice live?", as_of="2025-06-01")
    assert "<current_time>2025-06-01T00:00:00Z</current_time>" in model.prompts[-1].user
    assert "Berlin" not in model.prompts[-1].user
    assert [e.target for e in response.evidence.edges] == ["Paris"]
    await ask(facts.core, "Where does Alice live?", known_at="2025-06-01")
    assert "<current_time>2026-07-01T00:00:00Z</current_time>" in model.prompts[-1].user
    assert "--lives_in--> Paris(2): Alice lives in Paris. [valid_at=2025-01-10T00:00:00Z]\n" in model.prompts[-1].user


@requirement("query.prompt-past-facts")
async def test_what_is_announced_is_shown_with_its_start(plain: Core, model: ScriptedModel) -> None:
    now = at(plain, "2026-11-29")
    await tell_facts(now, edge("Alice", "lives_in", "Paris", valid_at="2025-01-10"))
    model.replies(verdicts(verdict(contradicts=[1])), answer("In Paris, from January in Rome.", edges=[1, 2]))
    told = await tell_facts(now, edge("Alice", "lives_in", "Rome", valid_at="2027-01-01"))
    assert told.invalidated_edges == [1]
    await ask(now, "Where does Alice live?")
    prompt = model.prompts[-1]
    assert "Rome(3) [valid_at=2027-01-01T00:00:00Z]" in prompt.user
    assert "Paris(2) [valid_at=2025-01-10T00:00:00Z, invalid_at=2027-01-01T00:00:00Z]" in prompt.user
    assert "<current_time>2026-11-29T00:00:00Z</current_time>" in prompt.user
    assert "whose valid_at is after the current time is not true yet" in prompt.system
    alice = Facts(now)
    assert await alice(as_of="2026-12-31") == {"Paris 2025-01-10..2027-01-01"}
    assert await alice(as_of="2027-01-01") == {"Rome 2027-01-01.."}


async def test_the_evidence_alone_is_the_whole_subgraph(plain: Core, config: Config, model: ScriptedModel) -> None:
    await tell(
        plain,
        entities=[{"name": "Mo", "type": "person", "description": "a baker"}],
        edges=[edge("Mo", "lives_in", "Kent", description="Mo lives in Kent."), edge("Mo", "likes", "Tea")],
    )
    body = (await ask(plain, "Where does Mo live?", answer=False, session_id="s")).body()
    assert body.keys() == {"session_id", "evidence"}
    assert body["evidence"]["entities"][0] == {"id": 1, "name": "Mo", "type": "person", "description": "a baker"}
    assert [(e["target"], e.get("description")) for e in body["evidence"]["edges"]] == [
        ("Tea", None),
        ("Kent", "Mo lives in Kent."),
    ]
    assert model.prompts == []
    async with open_core(config, Providers(NoEngine())) as core:
        assert (await ask(core, "Where does Mo live?", answer=False, session_id="s")).body() == body


@requirement("query.edges-at-most-100")
async def test_the_hundred_facts_are_counted_after_the_reading_time(plain: Core, model: ScriptedModel) -> None:
    early = [edge("Hub", "knew", f"Old {i}", valid_at="2020", invalid_at="2021") for i in range(3)]
    await tell_facts(at(plain, "2025-01-01"), *early)
    late = [edge("Hub", "knows", f"New {i}", valid_at="2022") for i in range(120)]
    model.replies(verdicts())
    await tell_facts(at(plain, "2026-01-01"), *late)
    for times in ({"as_of": "2020-06"}, {"known_at": "2025-06-01"}):
        found = await ask(plain, "Hub", answer=False, **times)
        assert {e.target for e in found.evidence.edges} == {"Old 0", "Old 1", "Old 2"}
    assert len((await ask(plain, "Hub", answer=False)).evidence.edges) == 100
