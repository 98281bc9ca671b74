"""Pairing the rows of two points: nothing is lost, nothing is told twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from core.compare.pairing import in_order, paired, values_of
from core.rdf.terms import Row, Term

VARIABLES = ("a", "b", "c")
TERMS = st.sampled_from(
    [
        Term("uri", "urn:1"),
        Term("uri", "urn:2"),
        Term("literal", "1"),
        Term("literal", "1", datatype="urn:integer"),
        Term("literal", "1", language="de"),
        Term("bnode", "x"),
        Term("bnode", "y"),
    ]
)
ROWS = st.lists(st.dictionaries(st.sampled_from(VARIABLES), TERMS), max_size=12)
KEYS = st.lists(st.sampled_from(VARIABLES), unique=True, min_size=1)


def counted(rows: Sequence[Row]) -> Counter[object]:
    return Counter(values_of(row, VARIABLES) for row in rows)


@given(before=ROWS, after=ROWS)
def test_whole_rows_differ_as_bags_do(before: list[Row], after: list[Row]) -> None:
    found = paired(before, after, VARIABLES, ())
    assert counted(found.added) == counted(after) - counted(before)
    assert counted(found.removed) == counted(before) - counted(after)
    assert found.unchanged == sum((counted(before) & counted(after)).values())
    assert not found.changed


@given(rows=ROWS, key=KEYS | st.just([]))
def test_a_point_does_not_differ_from_itself(rows: list[Row], key: list[str]) -> None:
    found = paired(rows, list(reversed(rows)), VARIABLES, key)
    assert not found.added and not found.removed and not found.changed


@given(before=ROWS, after=ROWS, key=KEYS)
def test_every_row_is_of_one_key_and_every_key_in_one_list(before: list[Row], after: list[Row], key: list[str]) -> None:
    found = paired(before, after, VARIABLES, key)
    added, removed = ({values_of(row, key) for row in rows} for rows in (found.added, found.removed))
    changed = [values_of(change.key, key) for change in found.changed]
    there = {values_of(row, key) for row in before}, {values_of(row, key) for row in after}
    assert added == there[1] - there[0]
    assert removed == there[0] - there[1]
    assert len({*changed}) == len(changed)
    assert len(changed) + found.unchanged == len(there[0] & there[1])
    assert len(found.added) == sum(values_of(row, key) in added for row in after)
    for change in found.changed:
        rest = [name for name in VARIABLES if name not in key]
        assert not any(name in key for row in (*change.before, *change.after) for name in row)
        assert Counter(values_of(row, rest) for row in change.before) != Counter(
            values_of(row, rest) for row in change.after
        )


@given(before=ROWS, after=ROWS, key=KEYS | st.just([]))
def test_the_other_way_round_added_is_removed(before: list[Row], after: list[Row], key: list[str]) -> None:
    forth, back = paired(before, after, VARIABLES, key), paired(after, before, VARIABLES, key)
    assert (counted(forth.added), counted(forth.removed)) == (counted(back.removed), counted(back.added))
    assert (len(forth.changed), forth.unchanged) == (len(back.changed), back.unchanged)


@given(rows=ROWS)
def test_two_reads_of_the_same_rows_are_in_one_order(rows: list[Row]) -> None:
    one, other = in_order(rows, VARIABLES), in_order(reversed(rows), VARIABLES)
    assert [values_of(row, VARIABLES) for row in one] == [values_of(row, VARIABLES) for row in other]
