"""Which rows two points of one query have in common, and which they have not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from core.rdf.terms import Row, Term

Value = tuple[str, ...]
Key = tuple[Value | None, ...]
"""The values of some variables; None is unbound."""
_BLANK: Value = ("bnode",)


@dataclass(frozen=True, slots=True)
class Change:
    """A key whose rows differ, with all its rows at both points, without the key's variables."""

    key: Row
    before: Sequence[Row]
    after: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs, in the order of the rows. `unchanged` counts rows; with a key, the keys whose rows are the same."""

    added: Sequence[Row] = ()
    removed: Sequence[Row] = ()
    changed: Sequence[Change] = ()
    unchanged: int = 0


@dataclass(slots=True)
class _Group:
    """The rows of one key at both points."""

    key: Row
    before: list[Row] = field(default_factory=list[Row])
    after: list[Row] = field(default_factory=list[Row])


def paired(before: Sequence[Row], after: Sequence[Row], variables: Sequence[str], key: Sequence[str]) -> Difference:
    """Pairs rows of the same `variables`, by the values of the variables in `key`, or without one as wholes.

    A row that is there twice pairs with two. Blank nodes have no name that means the same at both points: any one is
    like any other.
    """
    return _by_key(before, after, variables, key) if key else _whole(before, after, variables)


def in_order(rows: Iterable[Row], variables: Sequence[str]) -> list[Row]:
    """The rows by their values, so that two reads of one point agree on their order."""
    return sorted(rows, key=lambda row: [value or () for value in values_of(row, variables)])


def values_of(row: Row, variables: Sequence[str]) -> Key:
    """What a row says, as it is compared."""
    return tuple(_value(row.get(name)) for name in variables)


def _value(term: Term | None) -> Value | None:
    if term is None:
        return None
    return _BLANK if term.kind == "bnode" else (term.kind, *term[1:])


def _whole(before: Sequence[Row], after: Sequence[Row], variables: Sequence[str]) -> Difference:
    removed = _without(before, after, variables)
    return Difference(_without(after, before, variables), removed, unchanged=len(before) - len(removed))


def _without(rows: Sequence[Row], others: Sequence[Row], variables: Sequence[str]) -> list[Row]:
    """The rows that have no partner among the others."""
    partners = Counter(values_of(row, variables) for row in others)
    alone: list[Row] = []
    for row in rows:
        value = values_of(row, variables)
        if partners[value]:
            partners[value] -= 1
        else:
            alone.append(row)
    return alone


def _by_key(before: Sequence[Row], after: Sequence[Row], variables: Sequence[str], key: Sequence[str]) -> Difference:
    rest = [name for name in variables if name not in key]
    groups: dict[Key, _Group] = {}
    for row in after:
        _group_of(groups, row, key).after.append(row)
    for row in before:
        _group_of(groups, row, key).before.append(row)
    both = [group for group in groups.values() if group.before and group.after]
    changed = [_change(group, key) for group in both if _differ(group, rest)]
    return Difference(
        added=[row for group in groups.values() if not group.before for row in group.after],
        removed=[row for group in groups.values() if not group.after for row in group.before],
        changed=changed,
        unchanged=len(both) - len(changed),
    )


def _group_of(groups: dict[Key, _Group], row: Row, key: Sequence[str]) -> _Group:
    shown = {name: row[name] for name in key if name in row}
    return groups.setdefault(values_of(row, key), _Group(shown))


def _differ(group: _Group, rest: Sequence[str]) -> bool:
    return Counter(values_of(r, rest) for r in group.before) != Counter(values_of(r, rest) for r in group.after)


def _change(group: _Group, key: Sequence[str]) -> Change:
    return Change(group.key, _stripped(group.before, key), _stripped(group.after, key))


def _stripped(rows: Sequence[Row], key: Sequence[str]) -> list[Row]:
    return [{name: term for name, term in row.items() if name not in key} for row in rows]
