"""day_of: a date of a row as a place on an axis of time."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2})(?:[T ](.+))?)?)?(Z|[+-]\d{2}:\d{2})?")
_YEARS = {str(year) for year in range(1600, 2200)}
# What begins or ends beyond has no known beginning or end, and no axis has room for it.
_EARLIEST, _LATEST = 1000, 2999
_DAY_SECONDS = 86_400


def day_of(text: str) -> float | None:
    """The days since 1970 of a year, a year and month, a date or a moment; None for every other text, and for years
    that stand for never (0001, 9999)."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, clock, _ = match.groups()
    if month is None and year not in _YEARS:
        return None  # a number of four digits
    if not _EARLIEST <= int(year) <= _LATEST:
        return None
    try:
        moment = datetime.fromisoformat(text.strip()) if clock else datetime(int(year), int(month or 1), int(day or 1))
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() / _DAY_SECONDS
    except ValueError:
        return None
