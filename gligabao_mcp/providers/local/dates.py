"""Dates said in words, read against a reference time: found in a text, made into text dates with their precision.

A text date is `2026`, `2026-05`, `2026-05-20` or an RFC 3339 instant: what `core.times.read_moment` reads. Words such
as "yesterday" are resolved in the reference time's own offset.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

Tense = Literal["past", "present", "future"]
Resolver = Callable[[re.Match[str], date, Tense], str | None]

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {
    **{"a": 1, "an": 1, "one": 1, "two": 2, "couple": 2, "three": 3, "few": 3, "four": 4, "five": 5, "six": 6},
    **{"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12},
}

_MONTH = (
    r"(?P<month>january|february|march|april|may|june|july|august|september|october|november|december"
    r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?"
)
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_WEEKDAY = rf"(?P<weekday>{'|'.join(WEEKDAYS)})\b"
_COUNT = rf"(?P<count>\d+|{'|'.join(_NUMBERS)})(?: of)?"
_UNIT = r"(?P<unit>day|week|month|year|decade)s?\b"
_TURN = r"(?P<turn>last|next|this|past|previous|coming|current)"
_CLOCK = r"(?: at (?:\d{1,2}(?::\d\d)?(?: ?[ap]m)?|noon|midnight))?"
_LEAD = (
    r"(?P<lead>since|until|till|through|from|to|between|and|in|on|at|by|before|after|during|around|about|starting|as of"
    r"|back in|for|over|of|within)"
)


@dataclass(frozen=True, slots=True)
class Found:
    """A date phrase in a text: where it stands, with its leading word ("since"), and the phrase without it."""

    start: int
    end: int
    lead: str
    phrase: str

    def resolve(self, reference: datetime, tense: Tense) -> str | None:
        """The text date, or None. What lies open ("in March") is looked for on the side that the tense points to."""
        if self.lead in ("for", "over"):
            back = resolve(f"{_RECENT.sub('', self.phrase)} ago", reference)
            return back or resolve(self.phrase, reference, tense)
        if self.lead in ("since", "back in"):
            tense = "past"
        elif self.lead in ("by", "until", "till") and tense == "present":
            tense = "future"
        return resolve(self.phrase, reference, tense)


def resolve(phrase: str, reference: datetime, tense: Tense = "past") -> str | None:
    """The text date that a phrase names, seen from the reference time, or None where it names none."""
    words = " ".join(phrase.lower().split())
    for pattern, resolver in _FORMS:
        if match := pattern.fullmatch(words):
            try:
                return resolver(match, reference.date(), tense)
            except (ValueError, OverflowError):
                return None
    return None


def find_dates(text: str) -> list[Found]:
    """The date phrases of a text, in order, the longest reading at each place."""
    return list(_scan(text))


def _scan(text: str) -> Iterator[Found]:
    position = 0
    while match := _ANYWHERE.search(text, position):
        best = max((f for f in _readings(text, match.start())), key=lambda f: f.end, default=None)
        if best is None:
            position = match.start() + 1
        else:
            yield best
            position = best.end


def _readings(text: str, start: int) -> Iterator[Found]:
    for pattern, needs_lead in _SEARCH:
        match = pattern.match(text, start)
        if match and not (needs_lead and not match["lead"]) and not _is_a_verb(match):
            lead = "until" if start and text[start - 1] in "-–" else match["lead"] or ""
            phrase = match["phrase"].rstrip(".")
            yield Found(start, match.start("phrase") + len(phrase), " ".join(lead.lower().split()), phrase)


def _is_a_verb(match: re.Match[str]) -> bool:
    # "may leave" and "march home" are verbs: a lower-case month counts only with a number or a word such as "last".
    return match["phrase"] in ("may", "march", "mar", "sep", "dec", "jan", "jun")


def _text(year: int, month: int = 0, day: int = 0) -> str:
    if day:
        return date(year, month, day).isoformat()
    return f"{year:04}-{month:02}" if month else f"{year:04}"


def _month_number(match: re.Match[str]) -> int:
    return next(n for n, name in enumerate(MONTHS, 1) if name.startswith(match["month"][:3]))


def _full_date(match: re.Match[str], today: date, tense: Tense) -> str:
    month, day = _month_number(match), int(match["day"])
    if match["year"]:
        return _text(int(match["year"]), month, day)
    this_year = date(today.year, month, day)
    if tense == "past":
        return _text(today.year - (this_year > today), month, day)
    return _text(today.year + (this_year < today), month, day)


def _month_year(match: re.Match[str], today: date, tense: Tense) -> str:
    return _text(int(match["year"]), _month_number(match))


def _bare_month(match: re.Match[str], today: date, tense: Tense) -> str:
    month, turn = _month_number(match), match["turn"]
    if turn in ("this", "current"):
        return _text(today.year, month)
    if turn in ("last", "past", "previous"):
        return _text(today.year - (month >= today.month), month)
    if turn in ("next", "coming"):
        return _text(today.year + (month <= today.month), month)
    if tense == "past":
        return _text(today.year - (month > today.month), month)
    return _text(today.year + (month < today.month), month)


def _year(match: re.Match[str], today: date, tense: Tense) -> str:
    return match["year"]


def _day_word(match: re.Match[str], today: date, tense: Tense) -> str:
    word = match["word"]
    if word.startswith("the day "):
        return _day(today, -2 if "before" in word else 2)
    if word in ("yesterday", "last night"):
        return _day(today, -1)
    return _day(today, 1 if word == "tomorrow" else 0)


def _day(today: date, days: int) -> str:
    return (today + timedelta(days=days)).isoformat()


def _turned_unit(match: re.Match[str], today: date, tense: Tense) -> str:
    step = _step(match["turn"])
    return _period(today, match["unit"], step)


def _step(turn: str | None) -> int:
    return -1 if turn in ("last", "past", "previous") else 1 if turn in ("next", "coming") else 0


def _period(today: date, unit: str, step: int) -> str:
    """The period so many units away: a week or weekend by its first day."""
    if unit == "year":
        return _text(today.year + step)
    if unit == "month":
        return _months_away(today, step)
    monday = today - timedelta(days=today.weekday()) + timedelta(weeks=step)
    return (monday + timedelta(days=5 if unit == "weekend" else 0)).isoformat()


def _months_away(today: date, months: int) -> str:
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return _text(year, month + 1)


def _weekday(match: re.Match[str], today: date, tense: Tense) -> str:
    turn, ahead = match["turn"], (WEEKDAYS.index(str(match["weekday"])) - today.weekday()) % 7
    if _step(turn) < 0 or (not turn and tense == "past"):
        return _day(today, ahead - 7)
    return _day(today, ahead or 7) if _step(turn) > 0 else _day(today, ahead)


def _ago(match: re.Match[str], today: date, tense: Tense) -> str:
    return _away(match, today, -1)


def _ahead(match: re.Match[str], today: date, tense: Tense) -> str:
    return _away(match, today, 1)


def _away(match: re.Match[str], today: date, sign: int) -> str:
    count = match["count"]
    number = sign * (int(count) if count.isdigit() else _NUMBERS[count])
    unit = match["unit"]
    if unit in ("year", "decade"):
        return _text(today.year + number * (10 if unit == "decade" else 1))
    if unit == "month":
        return _months_away(today, number)
    return _day(today, number * (7 if unit == "week" else 1))


def _part_of_unit(match: re.Match[str], today: date, tense: Tense) -> str:
    step = _step(match["turn"])
    if match["unit"] == "week" and match["part"] == "end":
        return (date.fromisoformat(_period(today, "week", step)) + timedelta(days=4)).isoformat()
    return _period(today, match["unit"], step)


def _season(match: re.Match[str], today: date, tense: Tense) -> str | None:
    if match["year"]:
        return match["year"]
    return _text(today.year + _step(match["turn"])) if match["turn"] else None


def _quarter(match: re.Match[str], today: date, tense: Tense) -> str:
    return _text(int(match["year"] or today.year), 3 * int(match["quarter"]) - 2)


def _iso(match: re.Match[str], today: date, tense: Tense) -> str:
    return match[0].upper().replace(" ", "T")


_RECENTLY = r"(?:the|last|past|about|around|over|more than|almost|nearly)"
_RECENT = re.compile(rf"(?:{_RECENTLY} )*", re.IGNORECASE)
_PART = r"(?:the )?(?:very )?(?P<part>end|beginning|start|middle)"
# How a date may be said; the last column says whether it is one only after a leading word ("in 2019", not "2019").
_TABLE: tuple[tuple[str, Resolver, bool], ...] = (
    (r"\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:\d\d)?)?", _iso, False),
    (r"(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?!\d)", _iso, False),
    (rf"(?:the )?(?:{_WEEKDAY},? )?(?:the )?{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?{_CLOCK}", _full_date, False),
    (rf"(?:{_WEEKDAY},? )?{_MONTH} (?:the )?{_DAY}(?!\d)(?:,? {_YEAR})?{_CLOCK}", _full_date, False),
    (rf"(?:early |late |mid[- ]|{_PART} of )?{_MONTH},?(?: of)? {_YEAR}", _month_year, False),
    (rf"{_TURN} {_MONTH}", _bare_month, False),
    (rf"(?:early |late |mid[- ]|{_PART} of )?(?:{_TURN} )?{_MONTH}(?! \d)", _bare_month, True),
    (
        rf"(?:early |late |mid[- ]|the year |{_PART} of )?{_YEAR}(?![-.,:/]\d(?!\d\d\d\b))(?! (?:euros|people))",
        _year,
        True,
    ),
    (
        rf"(?P<word>today|tonight|this (?:morning|afternoon|evening)|yesterday|last night|tomorrow"
        rf"|the day before yesterday|the day after tomorrow)(?: (?:morning|afternoon|evening|night))?{_CLOCK}",
        _day_word,
        False,
    ),
    (rf"(?<=\d\d[-–/]){_YEAR}", _year, False),
    (rf"(?:the )?(?:early |late )?{_TURN} (?P<unit>week|weekend|month|year)\b", _turned_unit, False),
    (rf"(?:{_TURN} )?{_WEEKDAY}(?: (?:morning|afternoon|evening|night))?{_CLOCK}", _weekday, True),
    (rf"{_TURN} {_WEEKDAY}(?: (?:morning|afternoon|evening|night))?{_CLOCK}", _weekday, False),
    (rf"(?:about |around |almost )?{_COUNT} {_UNIT} ago", _ago, False),
    (rf"{_COUNT} {_UNIT} from now", _ahead, False),
    (rf"{_PART} of (?:the |this )?(?:{_TURN} )?(?P<unit>week|month|year)\b", _part_of_unit, False),
    (rf"(?:the )?(?:{_TURN} )?(?P<season>spring|summer|autumn|fall|winter)(?: (?:of )?{_YEAR})?", _season, True),
    (rf"{_TURN} (?P<season>spring|summer|autumn|winter)", _season, False),
    (rf"q(?P<quarter>[1-4])(?: (?:of )?{_YEAR})?", _quarter, False),
)
# A length of time is a date only after these words: "in two weeks", "for five years" (counted back from now).
_LENGTHS: tuple[tuple[str, Resolver, str], ...] = (
    (rf"{_COUNT} {_UNIT}(?:' time)?", _ahead, "in|within"),
    (rf"(?:{_RECENTLY} )*{_COUNT} {_UNIT}", _ago, "for|over"),
)


def _with_every_group(pattern: str) -> str:
    """The pattern with the named groups that its resolver may ask for, so that a missing one reads as None."""
    missing = (g for g in ("year", "turn") if f"(?P<{g}>" not in pattern)
    return pattern + "".join(rf"(?P<{group}>(?!))?" for group in missing)


def _compiled(pattern: str, lead: str = "") -> re.Pattern[str]:
    return re.compile(lead + pattern, re.IGNORECASE)


_FORMS = [(_compiled(_with_every_group(p)), resolver) for p, resolver, _ in (*_TABLE, *_LENGTHS)]

_SEARCH = [
    *((_compiled(rf"(?P<phrase>{p})(?!\w)", rf"\b(?:{_LEAD} )?"), needs) for p, _, needs in _TABLE),
    *(
        (_compiled(rf"(?P<phrase>{p})(?!\w)(?! (?:ago|from|old))", rf"\b(?P<lead>{leads}) "), True)
        for p, _, leads in _LENGTHS
    ),
]
_ANYWHERE = re.compile(r"\b\w")
