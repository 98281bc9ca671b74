"""Which classes and properties a question is about, by its words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from core.describe.description import ClassPart, PropertyPart
from core.describe.prefixes import local_name
from core.query.score import STOPWORDS
from core.text import fold, without_accents

NAME, COMMENT = 4, 1
# Two words are of one stem where they share so many letters at least, and all but so many of the longer one.
STEM, ENDING = 4, 3

_WORD = re.compile(r"[^\W_]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of(text: str) -> frozenset[str]:
    """The words of a question, a label or a local name (worksFor is two), folded, without stopwords."""
    found = _WORD.findall(without_accents(fold(_HUMP.sub(" ", text))))
    return frozenset(word for word in found if len(word) > 1 and word not in STOPWORDS)


def matching(question: str, parts: Iterable[ClassPart | PropertyPart], *, comments: bool = False) -> Mapping[str, int]:
    """The IRIs of those whose name or label shares words with the question, the best first, with their scores;
    `comments`: words of their comments count too, a quarter."""
    asked = _Words(words_of(question))
    scores: dict[str, int] = {}
    for part in parts:
        score = NAME * asked.shared(_words_of(local_name(part.iri), part.label))
        if comments and part.comment:
            score += COMMENT * asked.shared(_words_of(part.comment))
        if score:
            scores[part.iri] = score
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


class _Words:
    """Words, and how each begins: most are told apart by that."""

    def __init__(self, words: frozenset[str]) -> None:
        self.words = words
        self.begins = frozenset(word[:STEM] for word in words)

    def shared(self, others: _Words) -> int:
        """How many of these words are among the others, or of one stem with one of them."""
        if self.begins.isdisjoint(others.begins):
            return 0
        return sum(any(word == other or _one_stem(word, other) for other in others.words) for word in self.words)


# The names of a graph's classes and properties are the same for every question.
@lru_cache(maxsize=20_000)
def _words_of(*texts: str | None) -> _Words:
    return _Words(words_of(" ".join(text for text in texts if text)))


def _one_stem(one: str, other: str) -> bool:
    """Whether they differ in their endings alone: team and teams, operate and operated."""
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared >= STEM and max(len(one), len(other)) - shared <= ENDING and min(len(one), len(other)) - shared <= 1
