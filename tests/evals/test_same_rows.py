"""What makes the rows of two queries the same: values count, not names, places or how a record is called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evals.same_rows import Names, same_rows
from core.rdf.terms import Solutions, Term

XSD = "http://www.w3.org/2001/XMLSchema#"
NAMES: Names = {"e:pay": ("payments team", "payments"), "e:id": ("identity team",)}


def term(value: object) -> Term | None:
    if value is None or isinstance(value, Term):
        return value
    if isinstance(value, bool):
        return Term("literal", str(value).lower(), f"{XSD}boolean")
    if isinstance(value, int):
        return Term("literal", str(value), f"{XSD}integer")
    text = str(value)
    return Term("uri", text) if text.startswith("e:") else Term("literal", text)


def typed(value: str, datatype: str) -> Term:
    return Term("literal", value, XSD + datatype)


def rows(columns: str, *given: tuple[object, ...]) -> Solutions:
    names = columns.split()
    read = [{name: one for name, value in zip(names, row, strict=True) if (one := term(value))} for row in given]
    return Solutions(names, read, len(read), 1, 0.0)


def ask(boolean: bool) -> Solutions:
    return Solutions((), (), 0, 1, 0.0, boolean=boolean)


GOLDEN = rows("team label n", ("e:pay", "payments team", 2), ("e:id", "identity team", 1))


def counts(golden: Solutions, answer: Solutions, names: Names = NAMES) -> tuple[int, int, int]:
    check = same_rows(golden, answer, names)
    return check.same, check.missing, check.extra


@pytest.mark.parametrize(
    "answer",
    [
        rows("t l c", ("e:pay", "payments team", 2), ("e:id", "identity team", 1)),
        rows("n label team", (1, "identity team", "e:id"), (2, "payments team", "e:pay")),
        rows("team n", ("e:pay", 2), ("e:id", 1)),
        rows("label n", ("payments team", 2), ("identity team", 1)),
        rows("team label n tier", ("e:pay", "payments team", 2, 9), ("e:id", "identity team", 1, 9)),
        rows("team n", ("e:pay", 2), ("e:pay", 2), ("e:id", 1)),
        rows("team n", ("e:pay", Term("literal", "2.0", f"{XSD}decimal")), ("e:id", "1")),
    ],
    ids=["other names", "other order", "without names", "without IRIs", "more columns", "twice", "other number types"],
)
def test_rows_that_say_the_same_are_the_same(answer: Solutions) -> None:
    assert counts(GOLDEN, answer) == (2, 0, 0)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (rows("team n", ("e:pay", 3), ("e:id", 1)), (1, 1, 1)),
        (rows("team n", ("e:pay", 2)), (1, 1, 0)),
        (rows("team n", ("e:pay", 2), ("e:id", 1), ("e:ops", 0)), (2, 0, 1)),
        (rows("team n", ("e:pay", 1), ("e:id", 2)), (0, 2, 2)),
        (rows("team", ("e:pay",), ("e:id",)), (0, 2, 2)),
        (rows("team n"), (0, 2, 0)),
        (ask(True), (0, 2, 1)),
    ],
    ids=["a wrong number", "one missing", "one too many", "swapped", "without numbers", "none", "yes"],
)
def test_rows_that_say_something_else_are_missing_or_too_many(
    answer: Solutions, expected: tuple[int, int, int]
) -> None:
    assert counts(GOLDEN, answer) == expected


def test_a_text_that_is_no_name_is_no_part_of_the_record() -> None:
    golden = rows("who mail", ("e:pay", "pay@shop.test"), ("e:id", "id@shop.test"))
    assert counts(golden, rows("who", ("e:pay",), ("e:id",)))[0] == 0
    assert counts(golden, rows("who phone", ("e:pay", "1-23"), ("e:id", "4-56")))[0] == 0
    assert counts(golden, rows("name mail", ("payments team", "pay@shop.test"), ("identity team", "id@shop.test"))) == (
        2,
        0,
        0,
    )


def test_without_names_a_record_is_its_iri() -> None:
    assert counts(GOLDEN, rows("team n", ("e:pay", 2), ("e:id", 1)), {})[0] == 0
    assert counts(rows("team n", ("e:pay", 2)), rows("x label c", ("e:pay", "payments team", 2)), {}) == (1, 0, 0)


def test_more_columns_may_not_make_more_rows_of_what_names_no_record() -> None:
    three = rows("n", (3,))
    assert counts(three, rows("level1 level2", (3, 5))) == (1, 0, 0)
    assert counts(three, rows("s level", *((f"e:{index}", 3) for index in range(5)))) == (1, 0, 4)
    assert counts(rows("s", ("e:pay",)), rows("s incident", ("e:pay", "e:1"), ("e:pay", "e:2"))) == (1, 0, 0)


def test_columns_of_equal_values_are_told_apart_by_their_rows() -> None:
    golden = rows("a b", (1, 2), (2, 1), (1, 1))
    assert counts(golden, rows("x y", (2, 1), (1, 2), (1, 1)))[0] == 3
    assert counts(rows("a b", (1, 2), (3, 1), (2, 3)), rows("x y", (2, 1), (1, 3), (3, 2))) == (3, 0, 0)


def test_many_columns_of_equal_values_end_soon() -> None:
    names = " ".join(f"c{index}" for index in range(12))
    golden = rows(names, *((*([True] * index), False, *([True] * (11 - index))) for index in range(12)))
    answer = rows(names, *((*([False] * index), True, *([False] * (11 - index))) for index in range(12)))
    assert counts(golden, answer) == (0, 12, 12)
    fewer = Solutions(answer.variables[:11], answer.rows, 12, 1, 0.0)
    assert counts(golden, fewer)[0] == 0


@pytest.mark.parametrize(("ours", "theirs", "expected"), [(True, True, (1, 0, 0)), (True, False, (0, 1, 1))])
def test_yes_and_no_are_one_row(ours: bool, theirs: bool, expected: tuple[int, int, int]) -> None:
    assert counts(ask(ours), ask(theirs)) == expected
    assert counts(ask(ours), rows("known", (typed(str(theirs).lower(), "boolean"),))) == expected
    assert counts(rows("known", (typed(str(int(ours)), "boolean"),)), ask(theirs)) == expected


def test_a_row_of_anything_else_is_no_yes() -> None:
    assert counts(ask(True), rows("text", ("true",))) == (0, 1, 1)
    assert counts(ask(True), rows("a b", (typed("true", "boolean"), 1))) == (0, 1, 1)


def test_unbound_values_and_blank_nodes_are_values_too() -> None:
    golden = rows("s x", ("e:pay", None), ("e:id", Term("bnode", "b1")))
    assert counts(golden, rows("s x", ("e:pay", None), ("e:id", Term("bnode", "other")))) == (2, 0, 0)
    assert counts(golden, rows("s x", ("e:pay", "known"), ("e:id", Term("bnode", "b1"))))[0] == 1


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (typed("1", "integer"), typed("1.000", "decimal"), True),
        (typed("3", "nonNegativeInteger"), typed("3", "unsignedLong"), True),
        (typed("0.1", "decimal"), typed("1.0E-1", "double"), True),
        (typed("3.3333333333333335", "double"), typed("3.333333333333333", "decimal"), True),
        (typed("12345678901234567890", "integer"), typed("12345678901234567891", "integer"), False),
        (Term("literal", "007"), Term("literal", "7"), False),
        (Term("literal", "Paris", "", "fr"), Term("literal", "Paris"), True),
        (typed("NaN", "double"), typed("NaN", "double"), True),
        (typed("1E999999999", "double"), typed("2E999999999", "double"), False),
        (typed("1", "boolean"), typed("true", "boolean"), True),
        (typed("0", "boolean"), typed("false", "boolean"), True),
        (Term("literal", "e:pay"), Term("uri", "e:pay"), False),
    ],
)
def test_values_are_what_they_say(one: Term, other: Term, alike: bool) -> None:
    assert (counts(rows("x", (one,)), rows("y", (other,)))[0] == 1) is alike


CELLS = st.one_of(st.integers(0, 3), st.sampled_from(["e:pay", "e:id", "x", "y", None]))
TABLES = st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=8))


@given(table=TABLES, data=st.data())
def test_the_same_rows_are_found_in_any_order_and_under_any_names(
    table: list[tuple[object, ...]], data: st.DataObject
) -> None:
    width = len(table[0])
    golden = rows(" ".join(f"g{index}" for index in range(width)), *table)
    order = data.draw(st.permutations(range(width)))
    shuffled = [tuple(row[index] for index in order) for row in data.draw(st.permutations(table))]
    answer = rows(" ".join(f"a{index}" for index in range(width)), *shuffled, *shuffled[:1])
    assert counts(golden, answer, {}) == (len(set(table)), 0, 0)


@given(table=TABLES, data=st.data())
def test_a_row_that_was_changed_is_missing_and_extra(table: list[tuple[object, ...]], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(table) - 1))
    changed = [*table[:at], tuple(9 for _ in table[at]), *table[at + 1 :]]
    names = " ".join(f"c{index}" for index in range(len(table[0])))
    same, missing, extra = counts(rows(names, *table), rows(names, *changed), {})
    assert same + missing == len(set(table))
    assert extra > 0
