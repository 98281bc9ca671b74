"""The artifacts that a row rests on and the sessions it was named in, as they are shown."""

from __future__ import annotations

from core.browse.stored import Page, Support
from core.graph import ArtifactKind
from core.requests import Response
from core.wire import Time


class SupportItem(Response):
    """An artifact that names the entity or states the fact, with the passage that does. `states_end`: it also says when
    the fact ended."""

    id: int
    kind: ArtifactKind
    parent_id: int | None = None
    valid_at: Time
    session_id: str | None = None
    states_end: bool | None = None
    excerpt: str


class SupportList(Response):
    """The artifacts that something rests on: the newest hundred, and how many there are."""

    items: list[SupportItem]
    total: int


class SessionNames(Response):
    """The sessions that something was named in: the newest hundred, and how many there are."""

    items: list[str]
    total: int


def session_names(page: Page[str]) -> SessionNames:
    """The sessions as they are shown."""
    return SessionNames(items=list(page.rows), total=page.total)


def support_list(page: Page[Support], *, of_fact: bool) -> SupportList:
    """The artifacts as they are shown; only a fact has an end that could be stated."""
    items = [
        SupportItem(
            id=row.id,
            kind=row.kind,
            parent_id=row.parent_id,
            valid_at=row.valid_at,
            session_id=row.session_id,
            states_end=row.states_end if of_fact else None,
            excerpt=row.excerpt,
        )
        for row in page.rows
    ]
    return SupportList(items=items, total=page.total)
