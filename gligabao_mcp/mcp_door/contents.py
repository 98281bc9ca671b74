"""What a resource holds when it is read: a page, and of an image that is kept its bytes."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mcp_types as types

from core.errors import NotFound
from core.requests import MAX_LIMIT
from gligabao_mcp.mcp_door import pages
from gligabao_mcp.mcp_door.browsing import Browsing
from gligabao_mcp.mcp_door.signals import Context
from gligabao_mcp.mcp_door.uris import DATASETS, Address, is_row, read_uri

MARKDOWN = "text/markdown"
NAMESAKES = 5
"""How many entities of one name, each of another type, are shown on one page."""
SESSION_TEXTS = 100
SESSION_CHARACTERS = 40_000
"""How much of a session is shown whole, the newest texts first; of a text beyond it the beginning."""

Contents = list[types.TextResourceContents | types.BlobResourceContents]


@dataclass(frozen=True, slots=True)
class ContentsOf:
    """Reads one resource for the user of one request."""

    browsing: Browsing
    context: Context

    async def uri(self, uri: str) -> Contents:
        """What the URI names. Raises NotFound, UnknownDataset or InvalidRequest where the user has nothing of it."""
        if uri == DATASETS:
            return [_markdown(uri, pages.datasets_page(await self._show("datasets", limit=MAX_LIMIT)))]
        address = read_uri(uri)
        if address is None:
            raise NotFound("uri: not found")
        if address.kind == "artifact":
            return await self._artifact(uri, address)
        page = self._entity if address.kind == "entity" else self._session
        return [_markdown(uri, await page(address))]

    async def _artifact(self, uri: str, at: Address) -> Contents:
        if not is_row(at.id):
            raise NotFound("uri: not found")
        body = await self._show("artifact", dataset=at.dataset, artifact_id=at.id)
        page = _markdown(uri, pages.artifact_page(at.dataset, body))
        return [page, *await self._image(uri, at.dataset, body["image"])] if "image" in body else [page]

    async def _image(self, uri: str, dataset: str, image: Mapping[str, Any]) -> list[types.BlobResourceContents]:
        core, found = await self.browsing.dataset(self.context, dataset)
        known = found and await core.graph.image(found, image["sha256"])
        if not known or known.read.image.content is None:
            return []
        blob = base64.b64encode(known.read.image.content).decode()
        return [types.BlobResourceContents(uri=uri, mime_type=image["media_type"], blob=blob)]

    async def _entity(self, at: Address) -> str:
        ids = [at.id] if is_row(at.id) else await self._named(at)
        found = [await self._show("entity", dataset=at.dataset, entity_id=i) for i in ids]
        if not found:
            raise NotFound("uri: not found")
        return "\n".join(pages.entity_page(at.dataset, body) for body in found)

    async def _named(self, at: Address) -> list[int]:
        body = await self._show("entities", dataset=at.dataset, name=at.id, limit=NAMESAKES)
        return [item["id"] for item in body["items"]]

    async def _session(self, at: Address) -> str:
        body = await self._show("session", dataset=at.dataset, session_id=at.id, limit=SESSION_TEXTS)
        newest = [item for item in body["artifacts"]["items"] if "parent_id" not in item]
        return pages.session_page(at.dataset, body, newest[::-1], await self._texts(at.dataset, newest))

    async def _texts(self, dataset: str, newest: Sequence[Mapping[str, Any]]) -> dict[int, str]:
        texts: dict[int, str] = {}
        left = SESSION_CHARACTERS
        for item in newest:
            left -= item["characters"]
            if item["characters"] == len(item["excerpt"]):
                texts[item["id"]] = item["excerpt"]
            elif left >= 0:
                texts[item["id"]] = (await self._show("artifact", dataset=dataset, artifact_id=item["id"]))["text"]
        return texts

    async def _show(self, operation: str, **fields: Any) -> dict[str, Any]:
        return await self.browsing.show(self.context, operation, **fields)


def _markdown(uri: str, text: str) -> types.TextResourceContents:
    return types.TextResourceContents(uri=uri, mime_type=MARKDOWN, text=text)
