"""The words of a question, with what tells whether one is part of a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from core.names.plain import ASKING, SMALL
from core.names.words import Found, found_words, is_unspaced

# So many words without a question mark are a name that is looked up, not a sentence.
PHRASE = 5
# An acronym has at most so many letters, a code at most so many letters and digits.
ACRONYM, CODE = 6, 5
# Behind a word of fewer letters, a full stop ends no sentence.
ABBREVIATED = 3

# A line is a question, or a name of its own.
_LINE = re.compile(r"[^\n;]+")
_END = re.compile(r"[.!?:…。？！][\"'”’»)\]]*(?:\s|$)|[。？！]")
# What may stand between the words of one name; any mark may that has no space around it.
_INSIDE = re.compile(r"[\s\-–/&+.'’·_@#]*|\S")
_QUOTED = re.compile(r"[\"“„«‚‘]([^\"“”„«»‚‘’\n]{1,100})[\"”“»’‘]|(?<!\w)'([^'\n]{1,100})'(?!\w)")


class Shape(Enum):
    """How a word is written."""

    NAME = auto()
    """As names are: with a capital inside a sentence, in quotes, or in a script without capitals."""
    OPENING = auto()
    """With a capital that starts a sentence."""
    LOWER = auto()
    ACRONYM = auto()
    CODE = auto()


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text. `joined`: it may be one name with the word before it. `asks`: it is the verb that opens the
    question."""

    start: int
    end: int
    key: str
    shown: str
    shape: Shape
    joined: bool
    asks: bool = False

    @property
    def unspaced(self) -> bool:
        """Whether it is a character of a script without spaces."""
        return is_unspaced(self.key)

    @property
    def is_number(self) -> bool:
        """Whether it has a digit, as a year, a room or a version does."""
        return any(char.isdigit() for char in self.key)

    @property
    def small(self) -> bool:
        """Whether it is a word of grammar."""
        return self.key in SMALL


def lines_of(text: str, *, phrase: bool = False) -> Iterator[Sequence[Word]]:
    """The words of each line of a text. `phrase`: each is a name and nothing else, however it is written."""
    for line in _LINE.finditer(text):
        yield _words(text, line.start(), line.group(), phrase)


def _words(text: str, offset: int, line: str, phrase: bool) -> Sequence[Word]:
    found = found_words(line)
    quoted = [match.span() for match in _QUOTED.finditer(line)]
    named = phrase or _is_phrase(line, found)
    words: list[Word] = []
    for at, word in enumerate(found):
        between = line[found[at - 1].end : word.start] if at else ""
        opens = not named and (at == 0 or _ends(line, found[at - 1], word))
        in_quotes = any(start < word.start and word.end < end for start, end in quoted)
        shown = line[word.start : word.end]
        shape = Shape.NAME if phrase or in_quotes else _shape(shown, opens)
        words.append(
            Word(
                offset + word.start,
                offset + word.end,
                word.key,
                shown,
                shape,
                joined=bool(at) and (named or (not opens and _INSIDE.fullmatch(between) is not None)),
                asks=shape in (Shape.OPENING, Shape.LOWER) and word.key in ASKING and _opens_question(words),
            )
        )
    return words


def _ends(line: str, before: Found, after: Found) -> bool:
    """Whether a sentence ends between two words: not inside one ("Node.js"), nor behind an abbreviation ("St. Gallen",
    "J. Weiß")."""
    is_abbreviated = len(before.key) < ABBREVIATED and line[before.end : after.start] == ". "
    return _END.match(line, before.end) is not None and not is_abbreviated


def _is_phrase(line: str, found: Sequence[Found]) -> bool:
    """Whether a line is a name that is looked up: a few words that ask nothing, of which one may be of grammar."""
    if not found or len(found) > PHRASE or "?" in line or "？" in line:
        return False
    small = [word.key in SMALL for word in found]
    return found[0].key not in ASKING and not (small[0] or small[-1]) and sum(small) <= 1


def _shape(shown: str, opens: bool) -> Shape:
    if any(char.isdigit() for char in shown) and (len(shown) <= CODE or shown.isdigit()):
        return Shape.CODE
    if shown.isupper() and 1 < len(shown.replace(".", "")) <= ACRONYM:
        return Shape.ACRONYM
    if shown[0].isupper():
        return Shape.OPENING if opens else Shape.NAME
    return Shape.LOWER if shown[0].islower() else Shape.NAME


def _opens_question(before: Sequence[Word]) -> bool:
    """Whether only small words and other verbs that ask stand before it in its sentence: "Please list", "Can you"."""
    for word in reversed(before):
        if not (word.small or word.asks):
            return False
        if word.shape is Shape.OPENING:
            break
    return True
