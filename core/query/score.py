"""Keyword scores: how well an entity's name and description fit a question (seed 000, Retrieve a subgraph)."""

from __future__ import annotations

import re

from core.text import name_key

WHOLE_NAME, IN_NAME, IN_DESCRIPTION = 5, 3, 1
MAX_TERMS = 12
MIN_TERM = 2

# Words that name nothing: questions are full of them, and names are hardly ever made of them.
STOPWORDS = frozenset(
    """a about all am an and any anybody anyone anything are as at be been being but by can could did do does doing done
    else ever everything for from had has have having he her hers him his how i if in into is it its just know let like
    many me more most much my no not of on one or our ours out please remember she should so some somebody someone
    something tell than that the their theirs them then there these they this those to too up us was we were what when
    where which while who whom whose why will with would you your yours""".split()  # noqa: SIM905 -- a block of words reads better than 130 strings
)

# Scripts that are written without spaces: a run of them is cut into overlapping pairs.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]+")
# A name may end in these ("C++", "C#"), so they keep a shorter name from matching inside it.
_WORDLIKE = "_+#"


def terms(question_key: str) -> tuple[str, ...]:
    """The search terms of a folded question: at most 12, without stopwords, repeats and terms under 2 characters.

    Words are runs of letters and digits, so a compound ("post-merge") is found by its parts; a run of a script without
    spaces gives its overlapping pairs of characters.
    """
    found: dict[str, None] = {}
    for word in _WORD.findall(question_key):
        parts = [word[i : i + 2] for i in range(len(word) - 1)] if _UNSPACED_RUN.fullmatch(word) else [word]
        found |= dict.fromkeys(p for p in parts if len(p) >= MIN_TERM and p not in STOPWORDS)
    return tuple(found)[:MAX_TERMS]


def names_whole(question_key: str, key: str) -> bool:
    """Whether the question holds the whole name, as words of its own (anywhere in a script without spaces)."""
    if not key:
        return False
    start = question_key.find(key)
    while start >= 0:
        end = start + len(key)
        if _boundary(question_key, start - 1, key[0]) and _boundary(question_key, end, key[-1]):
            return True
        start = question_key.find(key, start + 1)
    return False


def _boundary(text: str, beside: int, edge: str) -> bool:
    """Whether a name may begin or end here: it has no letter, digit or word-like sign of the same word beside it."""
    if not 0 <= beside < len(text):
        return True
    neighbour = text[beside]
    if _UNSPACED_RUN.match(edge) or _UNSPACED_RUN.match(neighbour):
        return True
    return not (neighbour.isalnum() or neighbour in _WORDLIKE)


def score(question: str, name: str, description: str) -> int:
    """The score of one entity for a question: +5 for its whole name, per term +3 in the name, +1 in the description.

    >>> score("Where does Alice work?", "Alice", "works at Acme")
    9
    """
    key = name_key(question)
    return score_keys(key, terms(key), name_key(name), name_key(description))


def score_keys(question_key: str, words: tuple[str, ...], key: str, description_key: str) -> int:
    """`score` on folded texts: the oracle that every faster way to the same numbers is tested against."""
    whole = WHOLE_NAME if names_whole(question_key, key) else 0
    return whole + sum(IN_NAME * (w in key) + IN_DESCRIPTION * (w in description_key) for w in words)
