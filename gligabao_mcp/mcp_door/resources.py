"""Resources: what is stored as pages that a person can attach to a chat, and a model can open by a link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from core.errors import InvalidRequest, NotFound, UnknownDataset
from core.requests import MAX_LIMIT
from gligabao_mcp.mcp_door.browsing import Browsing
from gligabao_mcp.mcp_door.contents import MARKDOWN, ContentsOf
from gligabao_mcp.mcp_door.failures import check_is_first_page
from gligabao_mcp.mcp_door.signals import Context
from gligabao_mcp.mcp_door.uris import DATASETS, TEMPLATES, read_uri, uri_of
from gligabao_mcp.report import day

# What a host shows in a menu: the sessions that began last, of the datasets that were written last.
DATASETS_LISTED = 5
SESSIONS_LISTED = 10

_DATASETS = types.Resource(
    uri=DATASETS,
    name="datasets",
    title="Datasets",
    description="What this memory holds: the datasets of the user, with their numbers of texts, entities and facts.",
    mime_type=MARKDOWN,
)
_TEMPLATES = [
    types.ResourceTemplate(
        uri_template=str(TEMPLATES["artifact"]),
        name="artifact",
        title="Text or image",
        description="A text as it was told, with its date, speaker and session; of an image its words and, where they "
        "are kept, its bytes.",
    ),
    types.ResourceTemplate(
        uri_template=str(TEMPLATES["entity"]),
        name="entity",
        title="Entity",
        description="A person, place or thing by its id or name: its description, and its facts with dates and links "
        "to their sources.",
        mime_type=MARKDOWN,
    ),
    types.ResourceTemplate(
        uri_template=str(TEMPLATES["session"]),
        name="session",
        title="Session",
        description="What was told in one conversation, in order.",
        mime_type=MARKDOWN,
    ),
]


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources of the server, each user's own."""

    browsing: Browsing

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """The list of datasets, and the newest sessions once the memory is in use. It opens no database: hosts ask for
        it, every page of it, in each process that they start."""
        check_is_first_page(params)
        sessions = await self._sessions(context) if self.browsing.handle.opened else []
        return types.ListResourcesResult(resources=[_DATASETS, *sessions])

    async def list_templates(
        self, _context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        check_is_first_page(params)
        return types.ListResourceTemplatesResult(resource_templates=_TEMPLATES)

    async def read(self, context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """What the URI names. An id of another user is answered like one that never was."""
        if params.uri == DATASETS or read_uri(params.uri):
            await self.browsing.handle.core()  # one that can't be opened is an outage: there may well be the resource
        try:
            return types.ReadResourceResult(contents=await ContentsOf(self.browsing, context).uri(params.uri))
        except (InvalidRequest, NotFound, UnknownDataset):
            raise MCPError(code=types.INVALID_PARAMS, message="Resource not found", data={"uri": params.uri}) from None

    async def _sessions(self, context: Context) -> list[types.Resource]:
        datasets = (await self.browsing.show(context, "datasets", limit=MAX_LIMIT))["items"]
        written = sorted(datasets, key=lambda item: item.get("last_write_at", ""), reverse=True)
        listed: list[types.Resource] = []
        for dataset in (item["name"] for item in written[:DATASETS_LISTED]):
            body = await self.browsing.show(context, "sessions", dataset=dataset, limit=SESSIONS_LISTED)
            listed += [_session(dataset, item) for item in body["items"] if item["artifacts"]]
        return listed


def _session(dataset: str, item: Mapping[str, Any]) -> types.Resource:
    first, last = day(item["first_at"]), day(item["last_at"])
    number = item["artifacts"]
    return types.Resource(
        uri=uri_of("session", dataset, item["session_id"]),
        name=item["session_id"],
        title=f"Session of {first}: {number} {'text' if number == 1 else 'texts'}",
        description=f"What was told in this conversation{f' until {last}' if last != first else ''}: {item['edges']} "
        f"facts about {item['entities']} entities in the dataset {dataset}.",
        mime_type=MARKDOWN,
        annotations=types.Annotations(last_modified=item["last_at"]),
    )
