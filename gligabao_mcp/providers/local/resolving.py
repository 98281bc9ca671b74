"""New facts compared with stored ones by rule: relations that hold once at a time, and facts told the other way."""

from __future__ import annotations

from collections.abc import Sequence

from core.graph import Edge, StatedEdge, Verdict
from core.single_valued import resolve_by_rule
from core.text import name_key
from gligabao_mcp.providers.local.relations import SYMMETRIC


def resolve(new: Sequence[StatedEdge], candidates: Sequence[Edge]) -> list[Verdict]:
    """One verdict for each new fact. "Tara married Sven" repeats "Sven married Tara", and a stated end closes it."""
    verdicts = resolve_by_rule(new, candidates)
    return [
        Verdict(twin) if (twin := _told_before(fact, candidates)) is not None else verdict
        for fact, verdict in zip(new, verdicts, strict=True)
    ]


def _told_before(fact: StatedEdge, candidates: Sequence[Edge]) -> int | None:
    """The stored fact that says the same: its mirror image, or, for one that ends, the only one it can mean."""
    if fact.relation in SYMMETRIC:
        mirrored = [e for e in candidates if e.relation == fact.relation and _ends(e) == _ends(fact)[::-1]]
        if mirrored:
            return mirrored[0].id
    if fact.invalid_at is None:
        return None
    meant = [e for e in candidates if _is_short_for(fact, e)]
    return meant[0].id if len(meant) == 1 else None


def _ends(fact: StatedEdge | Edge) -> tuple[str, str]:
    return name_key(fact.source), name_key(fact.target)


def _is_short_for(fact: StatedEdge, stored: Edge) -> bool:
    """ "Sold the motorbike" ends "owns the red motorbike"."""
    (source, target), (whose, what) = _ends(fact), _ends(stored)
    same = source == whose and fact.relation == stored.relation and stored.invalid_at is None
    return same and what.endswith(f" {target}")
