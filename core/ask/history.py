"""Which past commit an answer rests on, and of a comparison what differs."""

from __future__ import annotations

from core.ask.places import Place
from core.ask.response import AnswerQuery, ChangeShown, HistoryShown, Totals
from core.ask.steps import CompareFound, Found, QueryFound
from core.compare.compare import shown_change, shown_row

MAX_ENTRIES = 500


def query_of(found: Found) -> AnswerQuery:
    """The query, with the commit that it read where that is a past one; of a comparison the later one."""
    if isinstance(found, QueryFound):
        seq = found.place.seq if found.place else None
        return AnswerQuery(sparql=found.ran.checked.text, entailment=found.entailment, as_of_commit_seq=seq)
    return AnswerQuery(sparql=found.compared.checked.text, entailment=found.entailment, as_of_commit_seq=found.seq)


def history_of(found: Found) -> HistoryShown | None:
    """None for a query at the newest commit."""
    if isinstance(found, QueryFound):
        return HistoryShown.model_validate({"compare": False, **_placed(found.place)}) if found.place else None
    return _compared(found)


def _placed(place: Place) -> dict[str, object]:
    return {
        "as_of_date": place.date.isoformat() if place.date else None,
        "as_of_commit_seq": place.seq,
        "resolved_by": place.by,
        "label": place.label,
    }


def _compared(found: CompareFound) -> HistoryShown:
    differs = found.compared.difference
    lists = (differs.added, differs.removed, differs.changed)
    changes = [shown_change(change) for change in differs.changed[:MAX_ENTRIES]]
    told = {
        "compare": True,
        **_placed(found.earlier),
        "key": list(found.compared.key),
        "added": [shown_row(row) for row in differs.added[:MAX_ENTRIES]],
        "removed": [shown_row(row) for row in differs.removed[:MAX_ENTRIES]],
        "changed": [ChangeShown(key=one.key, before=one.before, after=one.after) for one in changes],
        "totals": Totals(
            added=len(differs.added),
            removed=len(differs.removed),
            changed=len(differs.changed),
            unchanged=differs.unchanged,
        ),
        "truncated": found.compared.truncated or any(len(entries) > MAX_ENTRIES for entries in lists),
    }
    return HistoryShown.model_validate(told)
