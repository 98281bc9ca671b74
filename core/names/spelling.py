"""Spelling: the words of all names, found also where one or two letters are others."""

from __future__ import annotations

from collections.abc import Iterator

# A word of a name that has so many letters is found with one other letter, of so many with two.
ONE_OFF, TWO_OFF = 4, 8
# Words whose neighbours are remembered: those of the questions asked last.
REMEMBERED = 5_000


class Spelling:
    """Words by number, and the words near a word. Of two words that differ in few letters, each cut into one part more
    than that, one part is the same in both (pass-join): so only a few are compared letter by letter."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}
        self._parts: dict[str, list[int]] = {}
        self._near: dict[str, dict[int, int]] = {}

    def number(self, word: str) -> int | None:
        """The number of a word that is known."""
        return self._numbers.get(word)

    def add(self, word: str) -> int:
        """The number of a word, which is known from now on."""
        known = self._numbers.get(word)
        if known is not None:
            return known
        number = self._numbers[word] = len(self.words)
        self.words.append(word)
        self._near.clear()
        for place, start, end in _parts(len(word)):
            self._parts.setdefault(f"{len(word)}.{place}.{word[start:end]}", []).append(number)
        return number

    def near(self, word: str) -> dict[int, int]:
        """The numbers of the words that this one may be meant for, with how many letters are others: 0 for itself. Two
        letters that changed places count as one."""
        found = self._near.get(word)
        if found is None:
            if len(self._near) >= REMEMBERED:
                self._near.clear()
            found = self._near[word] = self._compare(word)
        return found

    def _compare(self, word: str) -> dict[int, int]:
        from rapidfuzz.distance import OSA

        found: dict[int, int] = {}
        for number in self._candidates(word):
            most = allowed(len(self.words[number]))
            off = OSA.distance(word, self.words[number], score_cutoff=most)
            if off <= most:
                found[number] = off
        return found

    def _candidates(self, word: str) -> set[int]:
        found: set[int] = set()
        for key in self._keys(word):
            found.update(self._parts.get(key, ()))
        exact = (word, *_with_two_swapped(word))
        found.update(number for one in exact if (number := self._numbers.get(one)) is not None)
        return found

    def _keys(self, word: str) -> Iterator[str]:
        """The parts that a word near this one may have."""
        for length in range(len(word) - 2, len(word) + 3):
            off = allowed(length)
            if abs(length - len(word)) > off:
                continue
            for place, start, end in _parts(length):
                for at in range(max(0, start - off), min(len(word) - (end - start), start + off) + 1):
                    yield f"{length}.{place}.{word[at : at + end - start]}"


def allowed(length: int) -> int:
    """How many letters of a name's word of that length may be others."""
    return 2 if length >= TWO_OFF else 1 if length >= ONE_OFF else 0


def _parts(length: int) -> Iterator[tuple[int, int, int]]:
    """Where a word of that length is cut: place, start and end of each part; none where no letter may be another."""
    count = allowed(length) + 1
    if count > 1:
        for place in range(count):
            yield place, length * place // count, length * (place + 1) // count


def _with_two_swapped(word: str) -> Iterator[str]:
    """A swap at the border of two parts changes both of them, where one other letter is allowed."""
    if allowed(len(word)) == 1:
        for at in range(len(word) - 1):
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]
