"""The embedded engine on the gold sentences: what it reads, and whether it finds the right text for a question.

    python benchmarks/extraction.py [--wrong] [--answers]

`sentences_second.jsonl` was written after the rules were frozen and they were not changed for it: its F1 is the honest
one. The development gold is what they were tuned on. Retrieval goes through the engine's own ranking: every text is an
artifact of its own, the 20 facts nearest by cosine are the subgraph, and a question counts as found when the first fact
that the answer cites is from the right text.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import struct
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

# So that `python benchmarks/extraction.py` finds the packages beside this folder.
sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.scoring import Score, predicted, read_rows, read_spellings, score
from core.graph import Edge
from core.inferences import Choice
from core.query.subgraph import Subgraph
from gligabao_mcp.providers.local.engine import EmbeddedEngine
from gligabao_mcp.providers.local.vectors import MiniLmEmbedder

HERE = Path(__file__).parent
GOLD = HERE.parent / "tests" / "gold"
TOLD = datetime.fromisoformat("2026-05-20T10:00:00+00:00")
NEAREST = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the texts that answer it, and what the engine said."""

    question: str
    wanted: frozenset[str]
    first: str | None
    answer: str

    @property
    def right(self) -> bool:
        """Whether the first evidence is from a right text, or there is none and should be none."""
        return self.first in self.wanted if self.wanted else self.first is None

    @property
    def told(self) -> str:
        return f"{'ok ' if self.right else 'BAD'} {self.question} -> {self.answer} [{self.first}]"


async def extraction_score(gold: Path, spellings: Path, *, notes: bool = False) -> Score:
    """The score of the facts that the engine reads from a gold file; `notes` counts each note as a made-up fact."""
    engine, rows = EmbeddedEngine(), read_rows(gold)
    found = {
        row.id: predicted((await engine.extract(row.text, row.reference_time, Choice())).value, notes=notes)
        for row in rows
    }
    return score(rows, found, read_spellings(spellings))


async def ask_all(texts: Mapping[str, str], questions: Sequence[tuple[str, frozenset[str]]]) -> list[Asked]:
    """Every question, answered by the engine from the facts of all texts."""
    engine, embedder = EmbeddedEngine(), MiniLmEmbedder()
    edges, owner = await _read(engine, texts)
    vectors = (await embedder.embed([e.as_text for e in edges])).vectors
    asked: list[Asked] = []
    for question, wanted in questions:
        (vector,) = (await embedder.embed([question])).vectors
        subgraph = _nearest(edges, vectors, vector)
        answer = (await engine.answer(question, subgraph, TOLD, Choice())).value
        asked.append(Asked(question, wanted, owner[answer.edges[0]] if answer.edges else None, answer.text))
    return asked


async def _read(engine: EmbeddedEngine, texts: Mapping[str, str]) -> tuple[list[Edge], dict[int, str]]:
    edges: list[Edge] = []
    owner: dict[int, str] = {}
    for key, text in texts.items():
        for stated in (await engine.extract(text, TOLD, Choice())).value.edges:
            number = len(edges) + 1
            owner[number] = key
            ends = (stated.source, stated.target, stated.relation, stated.description)
            dates = (stated.valid_at, stated.invalid_at, TOLD, None, stated.valid_at_source)
            edges.append(Edge(number, 0, 0, *ends, None, None, *dates))
    return edges, owner


def _nearest(edges: Sequence[Edge], vectors: Sequence[bytes], question: bytes) -> Subgraph:
    cosines = {e.id: _dot(vector, question) for e, vector in zip(edges, vectors, strict=True)}
    best = sorted(cosines, key=lambda i: -cosines[i])[:NEAREST]
    return Subgraph((), tuple(e for e in edges if e.id in best), {i: cosines[i] for i in best})


def _dot(one: bytes, other: bytes) -> float:
    size = len(one) // 4
    return sum(a * b for a, b in zip(struct.unpack(f"<{size}f", one), struct.unpack(f"<{size}f", other), strict=True))


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON lines file."""
    return [cast("dict[str, Any]", json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


async def retrieval_questions() -> list[Asked]:
    """The questions of retrieval.jsonl on its 60 facts; those in other languages last."""
    lines = read_lines(GOLD / "retrieval.jsonl")
    texts = {line["id"]: line["text"] for line in lines if line["kind"] == "fact"}
    asked = sorted((line for line in lines if line["kind"] == "question"), key=lambda line: line["lang"] != "en")
    return await ask_all(texts, [(line["text"], frozenset(line["answers"])) for line in asked])


async def notes_questions() -> list[Asked]:
    """The questions on the natural notes, which lie among the 60 facts of retrieval.jsonl."""
    lines = [*read_lines(GOLD / "notes.jsonl"), *read_lines(GOLD / "retrieval.jsonl")]
    texts = {line["id"]: line["text"] for line in lines if line.get("kind") != "question"}
    asked = read_lines(GOLD / "notes_questions.jsonl")
    return await ask_all(texts, [(line["text"], frozenset(line["answers"])) for line in asked])


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wrong", action="store_true", help="name each missed and each made-up fact")
    parser.add_argument("--answers", action="store_true", help="print each answer")
    flags = parser.parse_args()
    development, second = GOLD / "facts_scoring.json", HERE / "sentences_second_scoring.json"
    for gold, spellings in (
        (GOLD / "facts.jsonl", development),
        (GOLD / "notes.jsonl", development),
        (HERE / "sentences_second.jsonl", second),
    ):
        facts = await extraction_score(gold, spellings)
        noted = await extraction_score(gold, spellings, notes=True)
        dates, must_not = f"{facts.dates_right}/{facts.dated}", f"{facts.violated}/{facts.forbidden}"
        print(
            f"{gold.name}: F1 {facts.f1:.3f} ({facts.right} right of {facts.gold} gold, {facts.predicted} read),",
            end="",
        )
        print(f" dates {dates}, must-not violated {must_not}; F1 {noted.f1:.3f} if notes count as made up")
        print("".join(f"  {line}\n" for line in facts.wrong) if flags.wrong else "", end="")
    for name, asked in (("retrieval.jsonl", await retrieval_questions()), ("notes", await notes_questions())):
        with_answer = [a for a in asked if a.wanted]
        silent = [a for a in asked if not a.wanted]
        print(f"{name}: right text first {sum(a.right for a in with_answer)}/{len(with_answer)}", end="")
        print(f", rightly unknown {sum(a.right for a in silent)}/{len(silent)}" if silent else "")
        print("".join(f"  {a.told}\n" for a in asked) if flags.answers else "", end="")


if __name__ == "__main__":
    asyncio.run(main())
