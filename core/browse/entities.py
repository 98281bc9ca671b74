"""entities and entity: the operations, who and what the memory knows."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from core.browse.edges import EdgeList, edge_list
from core.browse.requests import InDataset, MaybeId, Paged, Words, folded, next_cursor, window
from core.browse.stored import EntityFilter, Page, WholeEntity, Window
from core.browse.supports import SessionNames, SupportList, session_names, support_list
from core.core import Core
from core.datasets import find_dataset
from core.errors import NotFound
from core.graph import Entity
from core.requests import Label, ReadTime, Response, RowId
from core.text import entity_type, name_key
from core.times import utc
from core.wire import EntityItem, Time

FACTS_SHOWN = 100


class EntitiesRequest(Paged, InDataset):
    name: Annotated[Label, Field(description="Only those of this name, whatever its case, or merged from it.")] = None
    type: Annotated[Label, Field(description="Only those of this type, such as person.")] = None
    words: Annotated[
        Words, Field(description="Only those whose name and description hold all of these words or parts of words.")
    ] = None
    session_id: Annotated[Label, Field(description="Only those that this session named.")] = None
    artifact_id: Annotated[MaybeId, Field(description="Only those that this artifact or a chunk of it names.")] = None
    since: Annotated[ReadTime, Field(description="Only those first named after this time (RFC 3339 or a date).")] = None


class StoredEntityItem(EntityItem):
    """An entity: who described it, when it was first named and when it was named or described last."""

    model_id: str | None = None
    created_at: Time
    updated_at: Time


class EntityList(Response):
    """Entities, newest first."""

    items: list[StoredEntityItem]
    total: int
    next_cursor: str | None = None


class AliasItem(Response):
    """A name that was merged into the entity, and the id that it had."""

    former_id: int
    name: str
    type: str
    created_at: Time


class EntityRequest(InDataset):
    entity_id: Annotated[RowId, Field(description="The entity.")]


class EntityResponse(StoredEntityItem):
    """An entity with what is known of it. `edges` are the newest hundred of its facts; their `next_cursor` goes on in
    the list of edges, limited to this entity. `same_name` are entities of other types under its name: if they are the
    same thing, merge them."""

    edges: EdgeList
    aliases: list[AliasItem]
    same_name: list[EntityItem]
    artifacts: SupportList
    sessions: SessionNames

    @classmethod
    def of_whole(cls, whole: WholeEntity) -> EntityResponse:
        return cls(
            **_fields(whole.entity),
            edges=edge_list(whole.edges),
            aliases=[AliasItem.model_validate(alias, from_attributes=True) for alias in whole.aliases],
            same_name=[EntityItem.of(entity) for entity in whole.same_name],
            artifacts=support_list(whole.artifacts, of_fact=False),
            sessions=session_names(whole.sessions),
        )


def _fields(entity: Entity) -> dict[str, Any]:
    own = {"model_id": entity.model_id, "created_at": entity.created_at, "updated_at": entity.updated_at}
    return {**EntityItem.of(entity).model_dump(), **own}


def entity_list(page: Page[Entity]) -> EntityList:
    """A page of entities as it is shown."""
    items = [StoredEntityItem.model_validate(_fields(entity)) for entity in page.rows]
    return EntityList(items=items, total=page.total, next_cursor=next_cursor("entities", page))


async def entities(core: Core, request: EntitiesRequest) -> EntityList:
    """List the entities of the graph, newest first: people, places, things and what else was named."""
    part = window(request, "entities", key=[int])
    dataset = await find_dataset(core, request.user_id, request.dataset)
    if dataset is None:
        return entity_list(Page((), 0))
    among = EntityFilter(
        name_key=None if request.name is None else name_key(request.name),
        type=None if request.type is None else entity_type(request.type),
        words=folded(request.words),
        session_id=request.session_id,
        artifact_id=request.artifact_id,
        since=request.since and utc(request.since),
    )
    return entity_list(await core.reader.entities(dataset, among, part))


async def entity(core: Core, request: EntityRequest, *, most: int = FACTS_SHOWN) -> EntityResponse:
    """Show an entity: its description, its facts, other names, and the artifacts and sessions that name it."""
    dataset = await find_dataset(core, request.user_id, request.dataset)
    whole = dataset and await core.reader.entity(dataset, request.entity_id, Window(most))
    if not whole:
        raise NotFound("entity_id: not found", param="entity_id")
    return EntityResponse.of_whole(whole)
