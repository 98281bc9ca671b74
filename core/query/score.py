"""Keyword scores: how well an entity's name and description fit a question (seed 000, Retrieve a subgraph)."""

from __future__ import annotations

import re
import unicodedata
from itertools import groupby
from typing import Literal

from core.text import fold, name_key

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
UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u312f\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)
# "don't" names nothing, and of "Alice's" or "we've" only the first part is a word.
_CONTRACTED = re.compile(r"\b\w+n['’]t\b|(?<=\w)['’](?:s|d|m|ll|re|ve)\b")
# A name may end in these ("C++", "C#"), so they keep a shorter name from matching in front of them.
_ENDINGS = "+#"


def terms(question_key: str) -> tuple[str, ...]:
    """The search terms of a folded question: at most 12, without stopwords, repeats and terms under 2 characters.

    Words are runs of letters and digits, so a compound ("post-merge") is found by its parts; a run of a script without
    spaces gives its overlapping pairs of characters.
    """
    found: dict[str, None] = {}
    for kind, run in groupby(_CONTRACTED.sub(" ", question_key), _kind):
        word = "".join(run) if kind else ""
        parts = [word[i : i + 2] for i in range(len(word) - 1)] if kind == "unspaced" else [word]
        found |= dict.fromkeys(p for p in parts if len(p) >= MIN_TERM and p not in STOPWORDS)
        if len(found) >= MAX_TERMS:
            break
    return tuple(found)[:MAX_TERMS]


def _kind(char: str) -> Literal["unspaced", "word", ""]:
    """What a character is a part of. Marks belong to their letter: in Hindi, every other character is one."""
    if UNSPACED.match(char):
        return "unspaced"
    return "word" if char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M" else ""


def names_whole(question_key: str, key: str) -> bool:
    """Whether the question holds the whole name, as words of its own (anywhere in a script without spaces)."""
    if not key:
        return False
    start = question_key.find(key)
    while start >= 0:
        end = start + len(key)
        before, after = question_key[max(start - 1, 0) : start], question_key[end : end + 1]
        if _apart(before, key[0]) and _apart(after, key[-1], _ENDINGS):
            return True
        start = question_key.find(key, start + 1)
    return False


def pieces(question_key: str, most: int) -> set[str] | None:
    """Every name that the question holds whole, and no other text; None where that would be more than `most`."""
    around = f" {question_key} "
    starts, ends = list[int](), list[int]()
    for i, char in enumerate(question_key):
        if char == " ":
            continue
        before, after = around[i].strip(), around[i + 2].strip()
        starts += [i] if _apart(before, char) else []
        ends += [i + 1] if _apart(after, char, _ENDINGS) else []
    if len(starts) * len(ends) > 2 * most:
        return None
    return {question_key[start:end] for start in starts for end in ends if start < end}


def _apart(neighbour: str, edge: str, signs: str = "") -> bool:
    """Whether a name may begin or end beside this character: it is no part of the same word, and none of the signs."""
    if not neighbour or "unspaced" in (_kind(edge), _kind(neighbour)):
        return True
    return not _kind(neighbour) and neighbour not in signs


def score(question: str, name: str, description: str) -> int:
    """The score of one entity for a question: +5 for its whole name, per term +3 in the name, +1 in the description.

    >>> score("Where does Alice work?", "Alice", "works at Acme")
    9
    """
    key = name_key(question)
    return score_keys(key, terms(key), name_key(name), fold(description))


def score_keys(question_key: str, words: tuple[str, ...], key: str, description_key: str) -> int:
    """`score` on folded texts: the oracle that every faster way to the same numbers is tested against."""
    whole = WHOLE_NAME if names_whole(question_key, key) else 0
    return whole + sum(IN_NAME * (w in key) + IN_DESCRIPTION * (w in description_key) for w in words)
