"""Dates in words, as seen on Wednesday, 20 May 2026."""

from __future__ import annotations

from datetime import datetime

import pytest

from gligabao_mcp.providers.local.dates import Tense, find_dates, resolve

TOLD = datetime.fromisoformat("2026-05-20T10:00:00+00:00")


@pytest.mark.parametrize(
    ("phrase", "tense", "date"),
    [
        ("today", "past", "2026-05-20"),
        ("tonight", "future", "2026-05-20"),
        ("this morning", "past", "2026-05-20"),
        ("yesterday", "past", "2026-05-19"),
        ("last night", "past", "2026-05-19"),
        ("tomorrow", "future", "2026-05-21"),
        ("the day before yesterday", "past", "2026-05-18"),
        ("last week", "past", "2026-05-11"),
        ("next week", "future", "2026-05-25"),
        ("last month", "past", "2026-04"),
        ("this year", "past", "2026"),
        ("last year", "past", "2025"),
        ("next year", "future", "2027"),
        ("last Monday", "past", "2026-05-18"),
        ("next Monday", "future", "2026-05-25"),
        ("Friday", "present", "2026-05-22"),
        ("Friday", "past", "2026-05-15"),
        ("three days ago", "past", "2026-05-17"),
        ("two weeks ago", "past", "2026-05-06"),
        ("5 months ago", "past", "2025-12"),
        ("a year ago", "past", "2025"),
        ("March", "past", "2026-03"),
        ("March", "future", "2027-03"),
        ("June", "past", "2025-06"),
        ("last March", "past", "2026-03"),
        ("March 2026", "past", "2026-03"),
        ("4 May 2026", "past", "2026-05-04"),
        ("May 4th, 2026", "past", "2026-05-04"),
        ("the 4th of May", "past", "2026-05-04"),
        ("3 September", "future", "2026-09-03"),
        ("2019", "past", "2019"),
        ("the end of the month", "future", "2026-05"),
        ("the end of June", "future", "2026-06"),
        ("the end of the year", "future", "2026"),
        ("Q3 2026", "future", "2026-07"),
        ("2026-05-01", "past", "2026-05-01"),
        ("31 February 2026", "past", None),
        ("soon", "future", None),
    ],
)
def test_a_phrase_names_a_date_with_its_precision(phrase: str, tense: Tense, date: str | None) -> None:
    assert resolve(phrase, TOLD, tense) == date


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("He has lived here since 2019.", [("since", "2019", "2019")]),
        ("Anna studied from 2010 until 2014.", [("from", "2010", "2010"), ("until", "2014", "2014")]),
        ("She worked there in 2022–2023.", [("in", "2022", "2022"), ("until", "2023", "2023")]),
        ("The demo is in two weeks.", [("in", "two weeks", "2026-06-03")]),
        ("She has worked there for five years.", [("for", "five years", "2021")]),
        ("Bob left on Monday.", [("on", "Monday", "2026-05-18")]),
    ],
)
def test_the_word_before_a_date_is_kept(text: str, found: list[tuple[str, str, str]]) -> None:
    assert [(f.lead, f.phrase, f.resolve(TOLD, "past")) for f in find_dates(text)] == found


@pytest.mark.parametrize(
    "text",
    [
        "He may leave soon.",
        "They march home.",
        "April works at Acme.",
        "No meetings on Wednesdays.",
        "It costs 1450 euros.",
        "Version 2019.1 is out.",
        "Room 2024 is free.",
    ],
)
def test_what_only_looks_like_a_date_is_none(text: str) -> None:
    assert find_dates(text) == []


def test_yesterday_is_the_day_before_in_the_offset_of_the_reference_time() -> None:
    late = datetime.fromisoformat("2026-05-20T23:30:00-08:00")  # already the 21st in UTC
    assert resolve("yesterday", late, "past") == "2026-05-19"
