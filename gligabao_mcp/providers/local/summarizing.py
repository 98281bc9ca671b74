"""A summary without a language model: the sentences that have most in common with all the others, as they stand."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from gligabao_mcp.providers.local.sentences import pieces

SENTENCES = 3
_WORD = re.compile(r"[^\W\d_]{4,}|\d{2,}")
# A sentence fragment says nothing alone; a list that runs on is no sentence.
_SHORTEST, _LONGEST = 4, 60


def summarize(text: str) -> str:
    """The most central sentences of the text, in their order; its beginning where it has none."""
    found = [piece.text for piece in pieces(text) if not piece.code]
    whole = [s for s in found if _SHORTEST <= len(s.split()) <= _LONGEST and s[-1:] in ".!?…。"] or found
    if not whole:
        return text.strip()[:500]
    best = sorted(range(len(whole)), key=_centrality(whole).__getitem__, reverse=True)[:SENTENCES]
    return " ".join(whole[i] for i in sorted(best))


def _centrality(sentences: Sequence[str]) -> list[float]:
    """For each sentence the cosine with the sum of all, words that most sentences share counting little."""
    bags = [Counter(_WORD.findall(sentence.casefold())) for sentence in sentences]
    spread = Counter(word for bag in bags for word in bag)
    weights = [{word: n * math.log(1 + len(bags) / spread[word]) for word, n in bag.items()} for bag in bags]
    centre: Counter[str] = Counter()
    for weight in weights:
        centre.update(weight)  # pyright: ignore[reportArgumentType, reportCallIssue] -- weights are no whole numbers
    return [_cosine(weight, centre) for weight in weights]


def _cosine(weight: dict[str, float], centre: Counter[str]) -> float:
    length = math.sqrt(sum(value * value for value in weight.values()))
    return sum(value * centre[word] for word, value in weight.items()) / length if length else 0.0
