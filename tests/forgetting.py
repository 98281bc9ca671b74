"""Short ways to forget and to see what is left."""

from __future__ import annotations

from typing import Any

from core.core import Core
from core.forget.correct import CorrectRequest, CorrectResponse, correct
from core.forget.forget import ForgetRequest, ForgetResponse, forget
from core.forget.merge import MergeRequest, MergeResponse, merge
from core.forget.purge import PurgeRequest, PurgeResponse, purge
from core.forget.undo import UndoRequest, UndoResponse, undo
from tests.facts import ask


async def forget_it(core: Core, scope: str, id: object = None, **more: object) -> ForgetResponse:
    named = {} if id is None else {"id": id}
    return await forget(core, ForgetRequest.model_validate({"user_id": "u1", "scope": scope, **named, **more}))


async def undo_it(core: Core, gone: ForgetResponse | MergeResponse, user_id: str = "u1") -> UndoResponse:
    assert gone.tombstone_id is not None
    return await undo(core, UndoRequest(user_id=user_id, tombstone_id=gone.tombstone_id))


async def purge_it(core: Core, gone: ForgetResponse | MergeResponse, user_id: str = "u1") -> PurgeResponse:
    assert gone.tombstone_id is not None
    return await purge(core, PurgeRequest(user_id=user_id, tombstone_id=gone.tombstone_id))


async def merge_them(core: Core, into: int, other: int, **more: Any) -> MergeResponse:
    return await merge(core, MergeRequest(user_id="u1", into=into, other=other, **more))


async def correct_it(core: Core, edge_id: int, **more: Any) -> CorrectResponse:
    return await correct(core, CorrectRequest.model_validate({"user_id": "u1", "edge_id": edge_id, **more}))


async def facts_of(core: Core, question: str, **more: Any) -> set[str]:
    """The facts that the question finds, each with the year of its end."""
    found = (await ask(core, question, answer=False, **more)).evidence.edges
    return {
        f"{e.source} {e.relation} {e.target}" + (f" until {e.invalid_at.year}" if e.invalid_at else "") for e in found
    }


async def id_of(core: Core, name: str, **more: Any) -> int:
    """The entity of that name."""
    found = (await ask(core, name, answer=False, **more)).evidence.entities
    return next(entity.id for entity in found if entity.name == name)
