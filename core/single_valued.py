"""Resolving facts by code alone, where no language model compares them: relations that hold once at a time."""

from __future__ import annotations

from collections.abc import Sequence

from core.graph import Edge, StatedEdge, Verdict
from core.text import name_key

SINGLE_VALUED = frozenset({"lives_in", "works_at", "married_to", "reports_to", "has_email"})


def resolve_by_rule(new: Sequence[StatedEdge], candidates: Sequence[Edge]) -> list[Verdict]:
    """One verdict for each new fact: a single-valued relation of the same source contradicts its other targets.

    Everything else may hold beside what is stored: knowing one person does not end knowing another.
    """
    return [Verdict(contradicts=tuple(e.id for e in candidates if _one_at_a_time(fact, e))) for fact in new]


def outdated(facts: Sequence[StatedEdge]) -> list[tuple[int, ...]]:
    """For each fact of a conversation that was read at once, the ones said before it that it contradicts by rule: no
    language model compares facts that come together."""
    return [
        tuple(
            i
            for i, earlier in enumerate(facts)
            if max(earlier.said_in) < min(later.said_in) and _one_at_a_time(later, earlier)
        )
        for later in facts
    ]


def _one_at_a_time(fact: StatedEdge, stored: StatedEdge | Edge) -> bool:
    return (
        fact.relation in SINGLE_VALUED
        and fact.relation == stored.relation
        and name_key(fact.source) == name_key(stored.source)
        and name_key(fact.target) != name_key(stored.target)
    )
