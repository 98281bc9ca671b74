"""What a question asks for: its content words, the names in it, its topics, and the time it is about."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.graph import Edge
from core.times import read_moment
from gligabao_mcp.providers.local.dates import MONTHS, WEEKDAYS, find_dates
from gligabao_mcp.providers.local.tables import word_set
from gligabao_mcp.providers.local.topics import Topic, topics_of

_STOP = word_set(
    "a an the this that these those i me my mine we us our you your he him his she her it its they them their who whom"
    " whose what which when where why how is are was were be been being am do does did done have has had will would can"
    " could shall should may might must to of in on at by for from with about as into over under and or but not no any"
    " some there here than then so too very just also if up out now currently ever still get got go going someone"
    " anyone somebody anybody everyone people person thing one name called tell know remember please long much"
    " many old say s t re ve ll m d something anything kind sort"
)
# Verbs that share their subject with half of all sentences: no sign that a fact answers the question.
_VAGUE = word_set("use have get make take give need want like choose keep run")
_WORD = re.compile(r"[^\W_]+(?:[-.@][^\W_]+)*")
_PAST = re.compile(
    r"\b(?:did|was|were|had|used to|before|previous(?:ly)?|former(?:ly)?|earlier|back then|once|ago|originally"
    r"|last (?:year|month|week)|in (?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_OVER = re.compile(r"\b(?:used to|before|previous(?:ly)?|former(?:ly)?|earlier|originally|no longer)\b", re.IGNORECASE)
_OF_NOW = re.compile(r"\b(?:now|currently|today|these days|still|at the moment)\b", re.IGNORECASE)
_AHEAD = re.compile(r"\b(?:will|going to|next|tomorrow|soon|upcoming|plan(?:s|ned)?|when|from|future)\b", re.IGNORECASE)
_OWN = re.compile(r"\b(?:i|me|my|mine|we|our|us)\b", re.IGNORECASE)
# Words of questions in other languages that no English one has.
_FOREIGN = re.compile(
    r"\b(?:wo|wer|wie|wann|warum|welche[rsnm]?|macht|ist|hat|wohnt|arbeitet|où|qui|quand|quel(?:le)?s?|habite|est|dónde"
    r"|quién|cuándo|cuál|vive|trabaja|dove|chi|quando|qual|onde|quem|waar|wanneer|heeft|woont|werkt)\b",
    re.IGNORECASE,
)
_ASKS = re.compile(r"\b(?:who|whom|where|how (?:many|much|old|long|big|fast|high|far))\b", re.IGNORECASE)
_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|hundred|thousand|million)\b", re.I
)
_SHOWN = {
    **dict.fromkeys([f"how {much}" for much in ("many", "much", "old", "long", "big", "fast", "high", "far")], _NUMBER),
    "where": re.compile(r"\b(?:in|at|near|on|next to|behind|under|from|to|into) (?:the |my |our )?\w", re.IGNORECASE),
}
_SUFFIXES = ("ings", "ing", "ies", "ed", "es", "s", "e", "y")


@dataclass(frozen=True, slots=True)
class Question:
    """A question as its answer is looked for. `names` are the stems of names: the answer must hold one of them.
    `called` are those of each whom the facts know, first name and last name together."""

    words: frozenset[str]
    names: frozenset[str]
    called: tuple[frozenset[str], ...]
    topics: tuple[Topic, ...]
    about_past: bool
    about_over: bool
    about_future: bool
    about_user: bool
    foreign: bool
    asks: str
    at: tuple[datetime, datetime] | None

    @property
    def content(self) -> frozenset[str]:
        """The words that are no names and say something."""
        return self.words - self.names - _VAGUE

    def kind_is_in(self, text: str) -> bool:
        """Whether a text holds the kind of thing that is asked for."""
        if self.asks == "who":
            later = _words(text)[1:]
            return any(w.istitle() and stem(w) not in self.names and w.lower() not in _STOP for w in later)
        shown = _SHOWN.get(self.asks)
        return shown is not None and bool(shown.search(text))

    def held_then(self, edge: Edge) -> bool:
        """Whether the fact held in the time that the question names."""
        if self.at is None:
            return False
        start, end = self.at
        return edge.valid_at <= end and (edge.invalid_at is None or edge.invalid_at > start)


def read_question(question: str, edges: Sequence[Edge], now: datetime) -> Question:
    """The question, read beside the facts that may answer it: what they name counts as a name in it."""
    known = {word for e in edges for end in _name_ends(e) for word in _name_words(end)}
    asked = [w for w in _words(question) if w.lower() not in _STOP]
    later = _words(question)[1:]
    time = _time_asked(question, now)
    past = bool(_PAST.search(question)) or (time is not None and time[1] < now)
    return Question(
        words=frozenset(map(stem, asked)),
        names=frozenset(stem(w) for w in asked if w.lower() in known or _is_name(w, later)),
        called=tuple(_called(_words(question), known)),
        topics=topics_of(question),
        about_past=past and not _OF_NOW.search(question),
        about_over=bool(_OVER.search(question)),
        about_future=bool(_AHEAD.search(question)),
        about_user=bool(_OWN.search(question)),
        foreign=bool(_FOREIGN.search(question))
        or (len(later) > 1 and not any(w.lower() in _STOP for w in _words(question))),
        asks=" ".join(asks[0].lower().split()) if (asks := _ASKS.search(question)) else "",
        at=time,
    )


def _is_name(word: str, later: Sequence[str]) -> bool:
    return word.istitle() and word in later and word.lower() not in (*MONTHS, *WEEKDAYS)


def _called(words: Sequence[str], known: set[str]) -> Iterator[frozenset[str]]:
    """The names that the facts know, each with the words of it that stand together."""
    group: set[str] = set()
    for word in (*words, ""):
        if word.lower() in known and word.lower() not in _STOP:
            group.add(stem(word))
        elif group:
            yield frozenset(group)
            group = set()


def stems(text: str) -> frozenset[str]:
    """The content words of a text, without their usual endings."""
    return frozenset(stem(w) for w in _words(text) if w.lower() not in _STOP)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.replace("'s", " ").replace("’s", " "))


def stem(word: str) -> str:
    """The word without a usual English ending: "lives" and "living" are one."""
    lower = word.lower()
    for suffix in _SUFFIXES:
        if lower.endswith(suffix) and len(lower) - len(suffix) >= 3:
            return lower[: -len(suffix)]
    return lower


def _name_ends(edge: Edge) -> tuple[str, ...]:
    return (edge.source,) if edge.relation == "noted" else (edge.source, edge.target)


def _name_words(name: str) -> frozenset[str]:
    return frozenset(w.lower() for w in _words(name) if w[:1].isupper() and w.lower() not in _STOP)


def _time_asked(question: str, now: datetime) -> tuple[datetime, datetime] | None:
    for found in find_dates(question):
        date = found.resolve(now, "past")
        start, end = read_moment(date), read_moment(date, end=True)
        if start and end:
            return start.at, end.at
    return None
