"""Dates as models and callers write them: the pure part of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.extraction import RawEdge, read_extraction
from core.graph import StatedEdge
from core.times import Moment, Precision, read_instant, read_moment, rfc3339, utc
from tests.requirements import requirement

INDIA = timezone(timedelta(hours=5, minutes=30))
NOON = datetime(2026, 6, 10, 12, tzinfo=INDIA)

MOMENTS = st.datetimes(
    datetime(2, 1, 1), datetime(9998, 12, 31), timezones=st.sampled_from([UTC, INDIA, timezone(timedelta(hours=-8))])
)


def read_one(valid_at: str | None = None, invalid_at: str | None = None) -> tuple[StatedEdge, tuple[str, ...]]:
    edge = RawEdge("Ola", "Nord", "works_at", valid_at=valid_at, invalid_at=invalid_at)
    read = read_extraction([], [edge], reference_time=NOON, model_id="m")
    return read.edges[0], read.notes


@given(MOMENTS)
def test_a_time_comes_back_from_its_rfc_3339_form(moment: datetime) -> None:
    written = rfc3339(moment)
    assert written.endswith("Z")
    assert read_instant(written) == moment
    assert read_moment(written) == Moment(utc(moment))


@given(st.text(st.sampled_from("0123456789-:TZ+. "), max_size=26) | st.text(max_size=10))
def test_whatever_is_written_as_a_date_it_is_read_or_it_is_none(text: str) -> None:
    for end in (False, True):
        moment = read_moment(text, end=end, zone=INDIA)
        assert moment is None or moment.at.tzinfo is UTC


@given(st.dates(datetime(2, 1, 1).date(), datetime(9998, 1, 1).date()))
def test_what_starts_and_ends_in_one_year_or_month_holds_inside_it(day: datetime) -> None:
    for stated in (f"{day:%Y}".rjust(4, "0"), f"{day.year:04}-{day.month:02}"):
        start, end = read_moment(stated), read_moment(stated, end=True)
        assert start is not None and end is not None
        assert start.at <= datetime(day.year, day.month, day.day, tzinfo=UTC) < end.at
        assert (end.at + timedelta(microseconds=1)).day == 1


@pytest.mark.parametrize(
    ("written", "at", "precision"),
    [
        ("2019", "2019-01-01T00:00:00Z", "year"),
        ("2019-02", "2019-02-01T00:00:00Z", "month"),
        ("2019-02-03", "2019-02-03T00:00:00Z", "day"),
        (" 2019-02-03T04:05:06Z ", "2019-02-03T04:05:06Z", "instant"),
        ("2019-02-03T04:05:06", "2019-02-03T04:05:06Z", "instant"),
        ("2019-02-03 04:05:06.5+05:30", "2019-02-02T22:35:06.500000Z", "instant"),
        ("0001-01-01", "0001-01-01T00:00:00Z", "day"),
    ],
)
def test_a_date_is_read_as_precisely_as_it_is_written(written: str, at: str, precision: Precision) -> None:
    assert read_moment(written) == Moment(datetime.fromisoformat(at), precision)


@pytest.mark.parametrize(
    "written",
    [
        *(None, "", "yesterday", "19", "2019-2-3", "2019-13", "2019-02-30", "0000", "10000-01-01", "２０１９x"),
        *("2019-02-03T25:00:00Z", "0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"),
    ],
)
def test_a_date_that_is_none_is_missing(written: str | None) -> None:
    assert read_moment(written) is None
    assert read_moment(written, end=True) is None


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("2019", "2019-12-31T23:59:59.999999Z"),
        ("2024-02", "2024-02-29T23:59:59.999999Z"),
        ("2019-01-01", "2019-01-01T00:00:00Z"),
        ("2019-01-01T00:00:00Z", "2019-01-01T00:00:00Z"),
    ],
)
def test_the_end_of_a_year_is_its_last_instant_and_never_its_first(written: str, at: str) -> None:
    """C019."""
    moment = read_moment(written, end=True)
    assert moment is not None
    assert moment.at == datetime.fromisoformat(at)


@requirement("remember.reference-time-resolves-dates")
def test_a_day_is_the_day_of_the_reference_times_own_offset() -> None:
    edge, _ = read_one(valid_at="2026-06-09", invalid_at="2026-06")
    assert rfc3339(edge.valid_at) == "2026-06-08T18:30:00Z"
    assert edge.invalid_at is not None
    assert rfc3339(edge.invalid_at) == "2026-06-30T18:29:59.999999Z"
    assert (edge.valid_precision, edge.invalid_precision) == ("day", "month")


@requirement("remember.valid-at-default")
@pytest.mark.parametrize("missing", [None, "", "  ", "some day"])
def test_a_missing_start_is_the_reference_time_and_nothing_else(missing: str | None) -> None:
    """C016: not today, not midnight."""
    edge, notes = read_one(missing)
    assert edge.valid_at == NOON
    assert edge.valid_at_source == "reference"
    assert edge.invalid_at is None
    assert notes == (("left out a date that can't be read",) if missing == "some day" else ())


def test_a_missing_start_never_lies_after_the_stated_end() -> None:
    edge, _ = read_one(invalid_at="2019")
    assert edge.valid_at == edge.invalid_at == datetime(2019, 12, 31, 18, 29, 59, 999999, UTC)
    still, _ = read_one(invalid_at="2027")
    assert still.valid_at == NOON


def test_an_end_before_its_start_is_dropped_and_said() -> None:
    """C020."""
    edge, notes = read_one(valid_at="2026-01-01", invalid_at="2020-01-01")
    assert edge.invalid_at is None
    assert edge.inverted
    assert notes == ("dropped the end of an edge that lay before its start",)


def test_an_end_at_its_start_is_a_point_event() -> None:
    edge, notes = read_one(valid_at="2026-01-01T10:00:00Z", invalid_at="2026-01-01T10:00:00Z")
    assert edge.invalid_at == edge.valid_at
    assert not edge.inverted
    assert notes == ()
