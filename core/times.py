"""Points in time: read from what models and callers write, kept in UTC, shown as RFC 3339."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Literal

Precision = Literal["year", "month", "day", "instant"]

_PARTIAL = re.compile(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?")
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?([Zz]|[+-]\d{2}:?\d{2})?")


@dataclass(frozen=True, slots=True)
class Moment:
    """An instant in UTC, and how much of it was said."""

    at: datetime
    precision: Precision = "instant"


def utc(moment: datetime, zone: tzinfo = UTC) -> datetime:
    """The instant in UTC; one without a zone is read in `zone`."""
    return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)


def rfc3339(moment: datetime) -> str:
    """The instant as RFC 3339 with `Z`, with a fraction only where there is one."""
    return utc(moment).replace(tzinfo=None).isoformat() + "Z"


def read_instant(text: str) -> datetime | None:
    """An RFC 3339 date and time (the zone may be missing: the caller decides) of the years 0001 to 9999, in UTC too; or
    None."""
    if not _INSTANT.fullmatch(text.strip()):
        return None
    try:
        instant = datetime.fromisoformat(text.strip().upper().replace("Z", "+00:00"))
        utc(instant)
    except (ValueError, OverflowError):
        return None
    return instant


def read_moment(text: str | None, *, end: bool = False, zone: tzinfo = UTC) -> Moment | None:
    """What a model or caller wrote as a date, or None where it can't be read.

    Takes RFC 3339, `YYYY-MM-DD`, `YYYY-MM` and `YYYY`, in `zone` where none is given. The missing parts of a start
    become its earliest instant; those of an end the last microsecond of its year or month, so that what is said to
    start and end in 2019 holds inside 2019. A day is its first instant either way. Years are 0001 to 9999.
    """
    stated = (text or "").strip()
    try:
        if partial := _PARTIAL.fullmatch(stated):
            return _partial(partial, end=end, zone=zone)
        instant = read_instant(stated)
        return Moment(utc(instant, zone)) if instant else None
    except (ValueError, OverflowError):
        return None


def _partial(match: re.Match[str], *, end: bool, zone: tzinfo) -> Moment:
    year, month, day = (int(part) if part else None for part in match.groups())
    assert year is not None
    if day:
        return Moment(utc(datetime(year, month or 1, day), zone), "day")
    precision: Precision = "month" if month else "year"
    if not end:
        return Moment(utc(datetime(year, month or 1, 1), zone), precision)
    last = month or 12
    close = datetime(year, last, monthrange(year, last)[1], 23, 59, 59, 999999)
    return Moment(utc(close, zone), precision)


def zone_of(stated: datetime) -> tzinfo:
    """The zone that a stated reference time was given in: relative words are resolved there; UTC where none was."""
    return stated.tzinfo or UTC


MICROSECOND = timedelta(microseconds=1)
