"""A fact as the rules read it from a sentence, and the time it is said to hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gligabao_mcp.providers.local.clauses import Clause
from gligabao_mcp.providers.local.dates import Found
from gligabao_mcp.providers.local.phrases import Named
from gligabao_mcp.providers.local.relations import Kind


@dataclass(frozen=True, slots=True)
class Period:
    """From when to when, as text dates; None where it isn't said."""

    start: str | None = None
    end: str | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """One relation between two named things. `words` are the tokens of the sentence that it is read from."""

    source: Named
    relation: str
    target: Named
    period: Period
    words: frozenset[int]

    @property
    def ended(self) -> bool:
        return self.period.end is not None


_STARTS = frozenset({"since", "from", "starting", "as of", "between", "for", "over"})
_ENDS = frozenset({"until", "till", "through", "to", "and"})
_NEITHER = frozenset({"by", "before", "after", "within"})


def period(clause: Clause, kind: Kind, now: datetime) -> Period | None:
    """When the clause says that its relation holds. None: it says so of a future without a date, which may not come."""
    start, end, at = _sides(clause, now)
    if clause.tense == "future" and not (start or end or at):
        return None
    if kind == "end" or clause.status == "over":
        begun = start if kind != "end" else None
        return Period(begun, end or at or (start if kind == "end" else None) or now.isoformat())
    if kind == "state" and clause.tense == "past" and not clause.perfect:
        return _past_state(start, end, at, now)
    return Period(start or at, end)


def _past_state(start: str | None, end: str | None, at: str | None, now: datetime) -> Period:
    """ "Lived in Rome in 2019" held inside 2019; without an end it is over by now at the latest."""
    if start or end:
        return Period(start or (at if end else None), end)
    return Period(at, at or now.isoformat())


def _sides(clause: Clause, now: datetime) -> tuple[str | None, str | None, str | None]:
    start = _first(clause, _STARTS, now)
    end = _first(clause, _ENDS, now)
    return start, end, _first(clause, None, now)


def _first(clause: Clause, leads: frozenset[str] | None, now: datetime) -> str | None:
    for found in clause.dates:
        fits = found.lead in leads if leads else found.lead not in _STARTS | _ENDS | _NEITHER
        counts_back = found.lead in ("for", "over")
        if fits and not (counts_back and not clause.perfect) and (date := found.resolve(now, clause.tense)):
            return date
    return None


def said_date(dates: Sequence[Found], clause: Clause | None, now: datetime) -> str | None:
    """The date that a whole sentence is about, for its note: no deadline and no length of time."""
    tense = clause.tense if clause else "present"
    for found in dates:
        if found.lead not in _NEITHER | _ENDS | {"for", "over"} and (date := found.resolve(now, tense)):
            return date
    return None
