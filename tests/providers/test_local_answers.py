"""What the embedded engine answers, and how it compares facts."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from core.graph import NOTHING, Edge, StatedEdge, Verdict
from core.inferences import Choice
from core.ports import Answer
from core.query.subgraph import Subgraph
from gligabao_mcp.providers.local.answering import UNKNOWN
from gligabao_mcp.providers.local.engine import EmbeddedEngine

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 5, 20, 10, tzinfo=UTC)


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def fact(
    number: int,
    source: str,
    relation: str,
    target: str,
    description: str = "",
    *,
    start: str | None = None,
    end: str | None = None,
    superseded: bool = False,
) -> Edge:
    text = description or f"{source} {relation.replace('_', ' ')} {target}."
    valid, invalid = day(start) if start else NOW, day(end) if end else None
    expired = NOW if superseded else None
    told = "stated" if start else "reference"
    return Edge(number, 1, 2, source, target, relation, text, 1, "rules-en-1", valid, invalid, NOW, expired, told)


ACME = fact(
    1, "Alice", "works_at", "Acme", "Alice works at Acme.", start="2025-01-31", end="2026-03-01", superseded=True
)
HOOLI = fact(2, "Alice", "works_at", "Hooli", "Alice works at Hooli.", start="2026-03-01")
CHESS = fact(3, "Bob", "plays", "chess", "Bob plays chess.")


async def ask(question: str, *edges: Edge, similarity: dict[int, float] | None = None) -> Answer:
    subgraph = Subgraph((), edges, similarity or {})
    return (await EmbeddedEngine().answer(question, subgraph, NOW, Choice())).value


async def test_a_question_about_now_is_answered_with_what_holds_now() -> None:
    answer = await ask("Where does Alice work?", CHESS, HOOLI, ACME)
    assert answer == Answer("Alice works at Hooli (since March 2026).", edges=(2,))


async def test_a_question_about_the_past_is_answered_with_what_held_then() -> None:
    answer = await ask("Where did Alice work in 2025?", CHESS, HOOLI, ACME)
    assert answer.edges[0] == 1
    assert "(until March 2026)" in answer.text


async def test_what_is_over_is_told_with_its_end_where_nothing_holds_now() -> None:
    smoked = fact(4, "Igor", "does", "smoke", "Igor smokes.", start="2010-01-01", end="2020-06-15")
    assert (await ask("Does Igor smoke?", smoked)).text == "Igor smokes (until 15 June 2020)."


async def test_a_fact_of_the_future_says_from_when() -> None:
    rome = fact(5, "Alice", "lives_in", "Rome", "Alice lives in Rome.", start="2027-01-01")
    assert (await ask("Where will Alice live?", rome)).text == "Alice lives in Rome (from January 2027)."


async def test_several_facts_of_one_kind_are_all_told() -> None:
    french, polish = (fact(i, "Ana", "speaks", name) for i, name in ((6, "French"), (7, "Polish")))
    answer = await ask("Which languages does Ana speak?", french, polish)
    assert set(answer.edges) == {6, 7}


@pytest.mark.parametrize(
    ("question", "near"),
    [
        ("What is the capital of Peru?", 0.2),
        ("Where does Zelda work?", 0.45),
        ("What is Bob's phone number?", 0.49),
        ("What is my blood type?", 0.1),
    ],
)
async def test_it_says_plainly_that_it_does_not_know(question: str, near: float) -> None:
    answer = await ask(question, CHESS, HOOLI, similarity={3: near, 2: near})
    assert answer.text.startswith(UNKNOWN)
    assert (answer.entities, answer.edges) == ((), ())


PEANUTS = fact(20, "Maya", "allergic_to", "peanuts", "Maya is allergic to peanuts.")
VISIT = fact(21, "Ewa", "visited", "Tbilisi", "Ewa visited Tbilisi in May 2024.", start="2024-05-01")
SITAR = fact(22, "Gita", "plays", "sitar", "Gita lives in Pune and plays the sitar.")
AGE = fact(23, "Nerys", "has_age", "29", "Nerys is 29.")
TESTER = fact(24, "Ewa", "works_at", "Orange", "Ewa works at Orange as a tester.")
LEAD = fact(25, "Kamil", "has_role", "team lead", "Our team lead is Kamil.")
NILS = fact(26, "user", "noted", "Nils ist Elektriker in Kiel.", "Nils ist Elektriker in Kiel.")
COVERS = fact(27, "Sanne", "noted", "Sanne is on leave.", "Sanne is off on parental leave, Pieter covers for her.")
STANDUP = fact(28, "standup", "noted", "The standup is at 9:45.", "The standup is now at 9:45 instead of 9:30.")


@pytest.mark.parametrize(
    ("question", "known", "near"),
    [
        ("What is Maya's phone number?", PEANUTS, 0.58),
        ("Who is Maya's husband?", PEANUTS, 0.60),
        ("Does Maya like jazz?", PEANUTS, 0.60),
        ("When is Nerys's birthday?", AGE, 0.77),
        ("What is Ewa's favourite colour?", TESTER, 0.55),
        ("When did Gita visit Tbilisi?", VISIT, 0.66),
        ("Does Malik work at Orange?", TESTER, 0.66),
        ("When did Gita marry?", SITAR, 0.55),
        ("Where is Gita from?", SITAR, 0.55),
    ],
)
async def test_what_is_known_of_somebody_answers_no_other_question(question: str, known: Edge, near: float) -> None:
    malik = fact(29, "Malik", "owns", "bike", "Malik owns a bike.")
    answer = await ask(question, known, SITAR, malik, similarity={known.id: near, 22: 0.3, 29: 0.3})
    assert answer.text.startswith(UNKNOWN)
    assert answer.edges == ()


@pytest.mark.parametrize(
    ("question", "known", "near"),
    [
        ("How old is Nerys?", AGE, 0.87),
        ("What does Ewa do?", TESTER, 0.48),
        ("What does Kamil do?", LEAD, 0.45),
        ("Who is our team lead?", LEAD, 0.64),
        ("Who works at Orange?", TESTER, 0.65),
        ("Does Ewa work at Orange?", TESTER, 0.83),
        ("When did Ewa visit Tbilisi?", VISIT, 0.90),
        ("What is Nils's job?", NILS, 0.45),
        ("Was macht Nils beruflich?", NILS, 0.45),
        ("Who is standing in for Sanne?", COVERS, 0.42),
        ("What time is the daily meeting?", STANDUP, 0.28),
    ],
)
async def test_a_paraphrased_question_finds_its_fact(question: str, known: Edge, near: float) -> None:
    answer = await ask(question, CHESS, PEANUTS, known, similarity={known.id: near, 3: 0.3, 20: 0.35})
    assert answer.edges == (known.id,)


async def test_when_is_answered_with_the_date() -> None:
    answer = await ask("When did Ewa visit Tbilisi?", VISIT, CHESS, similarity={21: 0.9, 3: 0.2})
    assert answer.text == "Ewa visited Tbilisi in May 2024."


async def test_an_empty_memory_knows_nothing() -> None:
    assert await ask("Where does Alice work?") == Answer(UNKNOWN)


async def test_a_near_meaning_without_a_common_word_is_an_answer() -> None:
    leg = fact(8, "Tom", "noted", "Tom broke his leg.", "Tom broke his leg.")
    assert (await ask("Who has an injury?", leg, CHESS, similarity={8: 0.41, 3: 0.1})).edges == (8,)


async def test_the_users_own_words_are_told_back() -> None:
    home = fact(9, "user", "lives_in", "Oslo", "I live in Oslo with my cat.")
    assert (await ask("Where do I live?", home)).text == "You live in Oslo with your cat."


async def test_a_fact_whose_text_names_nobody_is_told_by_its_parts() -> None:
    home = fact(10, "Nina", "lives_in", "Ghent", "She lives in Ghent.")
    assert (await ask("Where does Nina live?", home)).text == "Nina lives in Ghent."


def stated(source: str, relation: str, target: str, end: str | None = None) -> StatedEdge:
    return StatedEdge(source, target, relation, "", NOW, day(end) if end else None)


async def compare(new: StatedEdge, *stored: Edge) -> Verdict:
    (verdict,) = (await EmbeddedEngine().resolve([new], stored, Choice())).value
    return verdict


async def test_a_new_employer_contradicts_the_old_one() -> None:
    assert await compare(stated("alice", "works_at", "Initech"), HOOLI, CHESS) == Verdict(contradicts=(2,))


async def test_a_second_hobby_contradicts_nothing() -> None:
    assert await compare(stated("Bob", "plays", "cello"), CHESS) == NOTHING


async def test_a_marriage_told_from_the_other_side_is_the_same_one() -> None:
    married = fact(11, "Sven", "married_to", "Tara")
    assert await compare(stated("Tara", "married_to", "Sven", end="2026-05-01"), married) == Verdict(duplicate_of=11)


async def test_what_was_sold_is_the_one_thing_that_it_can_be() -> None:
    bike, car = fact(12, "Zoe", "owns", "red motorbike"), fact(13, "Zoe", "owns", "car")
    assert await compare(stated("Zoe", "owns", "motorbike", end="2026-02-28"), bike, car) == Verdict(duplicate_of=12)
