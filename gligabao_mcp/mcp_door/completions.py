"""Completion: what a person may mean who begins to type the argument of a prompt or the part of a URI."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import mcp_types as types

from core.errors import UnknownDataset
from core.requests import MAX_LIMIT
from core.text import fold, without_accents
from gligabao_mcp.mcp_door.browsing import Browsing
from gligabao_mcp.mcp_door.signals import Context
from gligabao_mcp.mcp_door.uris import TEMPLATES, is_row

MOST_VALUES = 100
"""What the protocol lets through."""

_KINDS = {str(template): kind for kind, template in TEMPLATES.items()}


@dataclass(frozen=True, slots=True)
class Completions:
    """Completion from what the user has stored."""

    browsing: Browsing

    async def complete(self, context: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """The values that begin like what was typed, whatever their case and accents; none for what is not known."""
        known = (params.context.arguments if params.context else None) or {}
        try:
            completion = await self._completion(context, params, known.get("dataset") or None)
        except UnknownDataset:
            completion = _shown()
        return types.CompleteResult(completion=completion)

    async def _completion(
        self, context: Context, params: types.CompleteRequestParams, dataset: str | None
    ) -> types.Completion:
        typed = params.argument.value
        match _asked(params):
            case "dataset":
                return _shown(_beginning(typed, await self.browsing.dataset_names(context)))
            case "topic":
                return await self._names(context, dataset, typed)
            case "entity":
                found = await self._names(context, dataset, typed)
                # In a URI a name that is a number would be read as an id.
                values = [name for name in found.values if not is_row(name)]
                total = (found.total or 0) - len(found.values) + len(values)
                return found.model_copy(update={"values": values, "total": total})
            case "session":
                body = await self.browsing.show(context, "sessions", dataset=dataset, limit=MAX_LIMIT)
                begin_so = _beginning(typed, [item["session_id"] for item in body["items"]])
                return _shown(begin_so, more="next_cursor" in body)
            case _:
                return _shown()

    async def _names(self, context: Context, dataset: str | None, typed: str) -> types.Completion:
        core, found = await self.browsing.dataset(context, dataset)
        if found is None:
            return _shown()
        page = await core.reader.names(found, typed, MOST_VALUES)
        return types.Completion(values=list(page.rows), total=page.total, has_more=page.total > len(page.rows))


def _asked(params: types.CompleteRequestParams) -> str | None:
    """What is to be completed."""
    ref, name = params.ref, params.argument.name
    if isinstance(ref, types.PromptReference):
        return "topic" if (ref.name, name) == ("recall", "topic") else None
    kind = _KINDS.get(ref.uri)
    return {"dataset": "dataset", "id": kind}.get(name) if kind else None


def _beginning(typed: str, values: Iterable[str]) -> list[str]:
    start = without_accents(fold(typed))
    return [value for value in values if without_accents(fold(value)).startswith(start)]


def _shown(values: Sequence[str] = (), *, more: bool = False) -> types.Completion:
    """The first values. `more`: there are others that were not looked at, so nobody knows how many there are."""
    has_more = more or len(values) > MOST_VALUES
    return types.Completion(values=list(values[:MOST_VALUES]), total=None if more else len(values), has_more=has_more)
