"""Linking: the records that a text names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from core.names.index import Asked, Hit, NameIndex
from core.names.kinds import Kind
from core.names.plain import ASKING, ORDINARY
from core.names.text import Shape, Word, lines_of
from core.names.words import composed, name_words, named_part

# Words of the longest name that is looked for: as a whole, and by its parts. A script without spaces has many.
LONGEST, LONGEST_PART, LONGEST_UNSPACED = 16, 6, 24
# Letters of a lone word that is looked for in names, and with another spelling.
LEAST_PART, LEAST_FUZZY, LEAST_LOWER, LEAST_OPENING = 3, 5, 5, 7
# Characters of a script without spaces that may be part of a name, and of how much of it.
LEAST_UNSPACED, HALF = 2, 0.5
# Words of a text that are looked for with other spellings: a question has fewer.
MOST_SPELLED = 100
# How much worse than the best of a name its other candidates may be.
CLOSE = 0.15


class Link(NamedTuple):
    """Words of a text, where they stand, and the records that they may name, the best first."""

    start: int
    text: str
    hits: Sequence[Hit]


def link(text: str, index: NameIndex, plain: Collection[str] = (), *, phrase: bool = False) -> list[Link]:
    """The names of a text, in its order, each at most once. Longer names win over those inside them. Accents are told
    as composed characters, however they were typed.

    `plain`: further words that alone name nothing unless a record is named exactly so: those of the classes. `phrase`:
    each line of the text is a name and nothing else.
    """
    text = composed(text)
    linking = _Linking(index, plain, phrase)
    found: dict[str, Link] = {}
    for words in lines_of(text, phrase=phrase):
        for start, end, hits in linking.names(words):
            at = words[start].start
            shown = text[at : words[end - 1].end]
            found.setdefault(shown.casefold(), Link(at, shown, _as_written(text[at:], hits)))
    return sorted(found.values(), key=lambda one: one.start)


def _as_written(text: str, hits: Sequence[Hit]) -> Sequence[Hit]:
    """Of the records of exactly that name those first that the text begins with as they are written: C# before C,
    Müller before Muller."""

    def place(hit: Hit) -> tuple[bool, Kind, int]:
        label = composed(hit.name.label)
        is_written = hit.by == "exact" and text[: len(label)].casefold() == label.casefold()
        return hit.by != "exact", hit.name.kind, -len(label) if is_written else 0

    return sorted(hits, key=place)


@dataclass(slots=True)
class _Linking:
    """One text, whose names are looked for from the longest on."""

    index: NameIndex
    plain: Collection[str]
    phrase: bool
    spelled: set[str] = field(default_factory=set[str])
    """Words that are looked for with other spellings too."""
    similar: dict[tuple[Asked, ...], Sequence[Hit]] = field(default_factory=dict[tuple[Asked, ...], Sequence[Hit]])
    """What was looked for already: a long text says many things twice."""

    def names(self, words: Sequence[Word]) -> Iterator[tuple[int, int, Sequence[Hit]]]:
        """The names of a line, the longest first: where each starts and ends, and its records."""
        asked = [self._asked(word) for word in words]
        reach = self._reach(words, asked)
        taken = [False] * len(words)
        for length in range(min(len(words), LONGEST_UNSPACED), 0, -1):
            for start in range(len(words) - length + 1):
                end = start + length
                if not any(taken[start:end]) and (hits := self._hits(words, asked, reach, start, end)):
                    taken[start:end] = [True] * length
                    yield start, end, hits

    def _asked(self, word: Word) -> Asked:
        fixed = word.small or word.shape in (Shape.ACRONYM, Shape.CODE)
        if not fixed and len(self.spelled) < MOST_SPELLED:
            self.spelled.add(word.key)
        fixed = fixed or word.key not in self.spelled
        return Asked(word.key, acronym=word.shape is Shape.ACRONYM, fixed=fixed)

    def _reach(self, words: Sequence[Word], asked: Sequence[Asked]) -> list[int]:
        """For each word how far words go on of which each may stand in one name with the next."""
        reach = list(range(1, len(words) + 1))
        for at in range(len(words) - 2, -1, -1):
            if words[at + 1].joined and self.index.share(asked[at], asked[at + 1]):
                reach[at] = reach[at + 1]
        return reach

    def _hits(
        self, words: Sequence[Word], asked: Sequence[Asked], reach: Sequence[int], start: int, end: int
    ) -> Sequence[Hit]:
        unspaced = words[start].unspaced and words[end - 1].unspaced
        if (reach[start] < end) if unspaced else (end - start > LONGEST):
            return ()
        span = words[start:end]
        if not all(word.joined for word in span[1:]) or any(word.asks for word in span):
            return ()
        first, last = named_part([word.key for word in span], [word.shown for word in span])
        named = span[first:last]
        if hits := self._exact(named):
            return hits
        if reach[start + first] < start + last:
            return ()
        key = tuple(asked[start + first : start + last])
        if unspaced:
            return self._unspaced(key)
        if len(named) > LONGEST_PART or named[0].small or named[-1].small:
            return ()
        hits = self._lone(named[0]) if len(named) == 1 else self._several(named, key)
        if end < len(words) and words[end].joined and words[end].is_number:
            hits = [hit for hit in hits if not _is_numbered(hit, named)]
        return [hit for hit in hits if hit.score >= hits[0].score - CLOSE]

    def _exact(self, named: Sequence[Word]) -> Sequence[Hit]:
        if all(word.small and word.shape in (Shape.LOWER, Shape.OPENING) for word in named):
            return ()
        return self.index.exact(word.key for word in named)

    def _lone(self, word: Word) -> Sequence[Hit]:
        """A word by itself: written as a name, it is part of one or nearly; otherwise, it is part of an actor's."""
        ordinary = word.key in ORDINARY or word.key in ASKING or word.key in self.plain
        if ordinary and not self.phrase:
            return ()
        if word.shape is Shape.NAME and len(word.key) >= LEAST_PART:
            fixed = len(word.key) < LEAST_FUZZY or word.key not in self.spelled
            hits = self._similar((Asked(word.key, fixed=fixed),))
            return [hit for hit in hits if hit.by != "fuzzy" or hit.name.kind != Kind.WRITTEN]
        if word.shape in (Shape.LOWER, Shape.OPENING) and len(word.key) >= LEAST_LOWER:
            fixed = word.shape is Shape.LOWER or len(word.key) < LEAST_OPENING
            hits = self._similar((Asked(word.key, fixed=fixed),))
            return [hit for hit in hits if hit.name.kind == Kind.ACTOR]
        return ()

    def _several(self, words: Sequence[Word], key: tuple[Asked, ...]) -> Sequence[Hit]:
        """Words that stand together: parts of a name where one is written as one, else a whole name."""
        hits = self._similar(key)
        if any(word.shape is Shape.NAME for word in words):
            return hits
        return [hit for hit in hits if hit.covered == 1]

    def _unspaced(self, key: tuple[Asked, ...]) -> Sequence[Hit]:
        """Characters that stand so in a name, and are half of it."""
        if not LEAST_UNSPACED <= len(key) <= LONGEST:
            return ()
        together = "".join(word.key for word in key)
        hits = self._similar(tuple(word._replace(fixed=True) for word in key))
        return [hit for hit in hits if hit.covered >= HALF and together in "".join(name_words(hit.name.label))]

    def _similar(self, key: tuple[Asked, ...]) -> Sequence[Hit]:
        if key not in self.similar:
            self.similar[key] = self.index.similar(key)
        return self.similar[key]


def _is_numbered(hit: Hit, named: Sequence[Word]) -> bool:
    """Whether a name has a number that was not asked for: Building 7, where Building 8 was."""
    asked = {word.key for word in named}
    return any(any(char.isdigit() for char in word) and word not in asked for word in name_words(hit.name.label))
