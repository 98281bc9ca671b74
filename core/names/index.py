"""The names of a graph's records in memory, found by the words of a question."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from core.names.kinds import Kind
from core.names.plain import SMALL
from core.names.spelling import Spelling
from core.names.words import is_unspaced, name_words, with_umlauts_spelled

By = Literal["exact", "partial", "fuzzy", "acronym"]

# A name that more records have says nothing about which of them is meant; nor does a word that more have in theirs.
MANY_NAMED, MANY_HOLDING = 10, 6
# Names that are looked through at most for the rarest word, and so few that the others need not narrow them first.
FREQUENT, FEW = 5_000, 200
# First letters by which names are kept for acronyms: of more, long titles would have many times the memory.
SHORTEST_ACRONYM, ACRONYM_KEPT = 2, 3
# Letters that may be others in all words of a name together.
MOST_OFF = 2
# A part of a name counts for nine tenths of the whole at least; an acronym, and words in another order, for less.
PART, ACRONYM, OTHER_ORDER = 0.9, 0.9, 0.97


class Name(NamedTuple):
    """A record by one of its names, read under a class."""

    iri: str
    label: str
    class_: str
    kind: Kind


class Hit(NamedTuple):
    """A name that words may mean, and how well they match it, 0 to 1. `covered` is the part of the name, without
    its legal form, that is asked for."""

    name: Name
    score: float
    by: By
    covered: float = 1.0


class Asked(NamedTuple):
    """A word of a question. `acronym`: it may stand for the first letters of several words; `fixed`: it is spelled as
    it is meant."""

    key: str
    acronym: bool = False
    fixed: bool = False


class NameIndex:
    """The names of one graph. Not safe to be used in two threads at once."""

    def __init__(self) -> None:
        self._spelling = Spelling()
        self._names: list[Name | None] = []
        self._words: list[tuple[int, ...]] = []
        self._exact: dict[str, list[int]] = {}
        self._holding: list[list[int]] = []
        self._initials: dict[str, list[int]] = {}
        self._pairs: set[str] = set()
        self._of_record: dict[str, list[int]] = {}
        self._gone = 0

    def __len__(self) -> int:
        return len(self._names) - self._gone

    @property
    def worn(self) -> bool:
        """Whether so many names were taken out that it should be built anew."""
        return self._gone > 1_000 and self._gone > len(self)

    def add(self, name: Name) -> None:
        """Takes in a name, unless the record has it already, or it has no letters."""
        words = name_words(name.label)
        numbers = tuple(self._number(word) for word in words)
        known = self._of_record.setdefault(name.iri, [])
        if not numbers or any(self._words[at] == numbers for at in known):
            return
        number = len(self._names)
        known.append(number)
        self._names.append(name)
        self._words.append(numbers)
        self._exact.setdefault("".join(words), []).append(number)
        if spelled := with_umlauts_spelled(name.label):
            self._exact.setdefault("".join(name_words(spelled)), []).append(number)
        for word in set(numbers):
            self._holding[word].append(number)
        self._pairs.update(one + other for one, other in pairwise(words) if is_unspaced(one))
        for letters in set(_initials(words)):
            self._initials.setdefault(letters, []).append(number)

    def remove(self, iri: str) -> None:
        """Takes out the names of a record."""
        for number in self._of_record.pop(iri, ()):
            self._names[number] = None
            self._gone += 1

    def exact(self, words: Iterable[str]) -> list[Hit]:
        """The records of exactly that name, those of the first kind where there are many; none where even these are."""
        found = {name.iri: Hit(name, 1.0, "exact") for name in self._alive(self._exact.get("".join(words), ()))}
        hits = ranked(found.values())
        if len(hits) > MANY_NAMED:
            hits = [hit for hit in hits if hit.name.kind == hits[0].name.kind]
        return hits if len(hits) <= MANY_NAMED else []

    def similar(self, words: Sequence[Asked]) -> list[Hit]:
        """The records whose names hold all these words, spelled so or nearly so; none where many hold them, unless one
        word, spelled otherwise, is a whole name."""
        meanings = [self._meanings(word) for word in words]
        if len(words) == 1 and (whole := self._spelled_otherwise(words[0], meanings[0])):
            return whole
        found: dict[str, tuple[int, Hit]] = {}
        for number in self._with_all(words, meanings):
            name = self._names[number]
            match = self._match(words, meanings, number) if name else None
            if name and match:
                hit = self._hit(name, words, number, match)
                if name.iri not in found or found[name.iri][1].score < hit.score:
                    found[name.iri] = match.off, hit
        nearest = min((off for off, _ in found.values()), default=0)
        hits = [hit for off, hit in found.values() if off == nearest]
        return ranked(hits) if len(hits) <= MANY_HOLDING else []

    def share(self, one: Asked, other: Asked) -> bool:
        """Whether a name may hold both words, as they stand side by side; of a script without spaces, whether one has
        them so."""
        if is_unspaced(one.key) and is_unspaced(other.key):
            return one.key + other.key in self._pairs
        rarer, other_lists = sorted((self._lists(word, self._meanings(word)) for word in (one, other)), key=_count)
        if _count(rarer) > FREQUENT:
            return True
        return not set(chain.from_iterable(rarer)).isdisjoint(chain.from_iterable(other_lists))

    def _number(self, word: str) -> int:
        number = self._spelling.add(word)
        if number == len(self._holding):
            self._holding.append([])
        return number

    def _alive(self, numbers: Iterable[int]) -> Iterator[Name]:
        return (name for number in numbers if (name := self._names[number]))

    def _with_all(self, words: Sequence[Asked], meanings: Sequence[Mapping[int, int]]) -> Collection[int]:
        """The names that may hold all the words; none where these are very many."""
        lists = [self._lists(word, meant) for word, meant in zip(words, meanings, strict=True)]
        rarest, *others = sorted(lists, key=_count)
        if _count(rarest) > FREQUENT:
            return ()
        found = set(chain.from_iterable(rarest))
        for other in others:
            if len(found) > FEW:
                found.intersection_update(chain.from_iterable(other))
        return found

    def _lists(self, word: Asked, meant: Mapping[int, int]) -> list[list[int]]:
        """The names that hold a word, by what it may mean."""
        found = [self._holding[number] for number in meant]
        if word.acronym:
            found.append(self._initials.get(word.key[:ACRONYM_KEPT], []))
        return found

    def _spelled_otherwise(self, word: Asked, meant: Mapping[int, int]) -> list[Hit]:
        """The records whose whole name is nearly that word: of "Transistors" those that are called Transistor, though
        many names hold that."""
        nearest = min(meant.values(), default=0)
        alike = [self._spelling.words[number] for number, off in meant.items() if off == nearest > 0]
        score = round(1 - nearest / len(word.key), 2)
        return ranked(hit._replace(score=score, by="fuzzy") for one in alike for hit in self.exact((one,)))

    def _meanings(self, word: Asked) -> Mapping[int, int]:
        if not word.fixed:
            return self._spelling.near(word.key)
        number = self._spelling.number(word.key)
        return {} if number is None else {number: 0}

    def _match(self, words: Sequence[Asked], meanings: Sequence[Mapping[int, int]], number: int) -> _Match | None:
        """Where a name holds all the words; None where it does not."""
        name = self._words[number]
        free = list(range(len(name)))
        match = _Match()
        for word, meant in zip(words, meanings, strict=True):
            near = [(meant[name[at]], at) for at in free if name[at] in meant]
            if near:
                off, at = min(near)
                taken = [at]
                match.off += off
            elif word.acronym and (taken := self._spelled_out(word.key, name, free)):
                match.acronym = True
            else:
                return None
            match.places += taken
            free = [at for at in free if at not in taken]
        return match if match.off <= MOST_OFF else None

    def _hit(self, name: Name, words: Sequence[Asked], number: int, match: _Match) -> Hit:
        lengths = [len(self._spelling.words[word]) for word in self._words[number]]
        covered = sum(lengths[at] for at in match.places) / sum(lengths)
        score = max(0.0, 1 - match.off / sum(len(word.key) for word in words)) * (PART + (1 - PART) * covered)
        if match.acronym:
            score *= ACRONYM
        if match.places != sorted(match.places):
            score *= OTHER_ORDER
        by = "acronym" if match.acronym else "fuzzy" if match.off else "partial"
        return Hit(name, round(min(score, 0.99), 2), by, covered)

    def _spelled_out(self, acronym: str, name: Sequence[int], free: Sequence[int]) -> list[int]:
        """The places of the words whose first letters an acronym is; small words between them do not count."""
        places = [at for at in free if self._spelling.words[name[at]] not in SMALL]
        letters = "".join(self._spelling.words[name[at]][0] for at in places)
        start = letters.find(acronym)
        return places[start : start + len(acronym)] if start >= 0 else []


@dataclass(slots=True)
class _Match:
    """Which words of a name are meant, how many letters of them are others, and whether an acronym stands for some."""

    places: list[int] = field(default_factory=list[int])
    off: int = 0
    acronym: bool = False


def _count(lists: Iterable[Sequence[int]]) -> int:
    return sum(map(len, lists))


def ranked(hits: Iterable[Hit]) -> list[Hit]:
    """The hits, the best first: the whole name before others, then by kind, then by score."""
    return sorted(
        hits, key=lambda hit: (hit.by != "exact", hit.name.kind, -hit.score, len(hit.name.label), hit.name.iri)
    )


def _initials(words: Sequence[str]) -> Iterator[str]:
    """How every acronym of words of a name begins; of a script without spaces, whose characters are words, none."""
    letters = "".join(word[0] for word in words if word not in SMALL)
    if len(letters) >= SHORTEST_ACRONYM and any(len(word) > 1 for word in words):
        for start in range(len(letters)):
            for length in range(SHORTEST_ACRONYM, min(ACRONYM_KEPT, len(letters) - start) + 1):
                yield letters[start : start + length]
