"""The embedded engine on the development gold: floors that a change of the rules must hold."""

from __future__ import annotations

import pytest

from benchmarks.extraction import GOLD, extraction_score, notes_questions, retrieval_questions

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("name", "spellings", "floor"),
    [
        ("facts.jsonl", "facts_scoring.json", 0.95),
        ("notes.jsonl", "facts_scoring.json", 0.80),
        ("sentences_first.jsonl", "sentences_first_scoring.json", 0.90),
    ],
)
async def test_the_facts_of_the_gold_are_read(name: str, spellings: str, floor: float) -> None:
    result = await extraction_score(GOLD / name, GOLD / spellings)
    assert result.f1 >= floor, result.wrong
    assert result.violated == 0


async def test_plain_facts_hold_their_score_when_every_note_counts_as_made_up() -> None:
    assert (await extraction_score(GOLD / "facts.jsonl", GOLD / "facts_scoring.json", notes=True)).f1 >= 0.90


async def test_the_right_note_is_the_first_evidence_for_nine_of_ten_questions() -> None:
    asked = await notes_questions()
    with_answer = [a for a in asked if a.wanted]
    assert sum(a.right for a in with_answer) >= 0.9 * len(with_answer), [a.told for a in asked]
    assert all(a.right for a in asked if not a.wanted), [a.told for a in asked]


async def test_paraphrased_questions_find_their_fact() -> None:
    asked = await retrieval_questions()
    assert sum(a.right for a in asked) >= 0.8 * len(asked), [a.told for a in asked]
