"""docs/sparql.md over HTTP: what the page sends is sent, and what it says comes back does."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest

from core.config import Config
from core.engine import NoEngine
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.providers.scripted import HashEmbedder
from gligabao_mcp.wiring import Providers, open_core
from tests.doors.conftest import http_client

pytestmark = pytest.mark.anyio

PAGE = (Path(__file__).parents[2] / "docs" / "sparql.md").read_text("utf-8")
BLOCK = re.compile(r"```(http|json|turtle)\n(.*?)```", re.DOTALL)


def said_in(said: object, answer: object) -> bool:
    """Whether the answer says all that the page says: the page may leave fields out."""
    if isinstance(said, dict) and isinstance(answer, dict):
        stated, told = cast("dict[str, object]", said), cast("dict[str, object]", answer)
        return all(name in told and said_in(value, told[name]) for name, value in stated.items())
    if isinstance(said, list) and isinstance(answer, list):
        one, other = cast("list[object]", said), cast("list[object]", answer)
        return len(one) == len(other) and all(map(said_in, one, other))
    return said == answer


@pytest.fixture
async def rest(tmp_path: Path) -> AsyncGenerator[httpx2.AsyncClient]:
    """A server with an embedder and no model."""
    settings = Config(home=tmp_path)
    handle = CoreHandle(lambda: open_core(settings, Providers(NoEngine(), HashEmbedder())))
    async with http_client(handle, settings) as client:
        yield client
    await handle.close()


async def test_what_the_page_on_sparql_shows_is_what_happens(rest: httpx2.AsyncClient) -> None:
    answer: Any = None
    shown = 0
    for kind, text in BLOCK.findall(PAGE):
        if kind == "turtle":
            sent = await rest.post(
                "/v1/graph/import/rdf?graph=shop", content=text, headers={"content-type": "text/turtle"}
            )
            assert sent.json()["triples_read"] == 22, sent.text
        elif kind == "http":
            answer = await send(rest, text)
        else:
            assert said_in(json.loads(text), answer), f"the page says {text}, the answer was {json.dumps(answer)}"
            shown += 1
    assert shown == 7


async def send(rest: httpx2.AsyncClient, text: str) -> Any:
    line, _, body = text.partition("\n")
    method, path = line.split(" ")
    is_update = path.startswith("/update")
    headers = {"content-type": "application/sparql-update" if is_update else "application/json"}
    sent = await rest.request(method, path, content=body, headers=headers)
    assert sent.status_code == 200, sent.text
    if method == "PUT" and path.startswith("/v1/embeddings"):
        await embedded(rest)
    return None if is_update else sent.json()


async def embedded(rest: httpx2.AsyncClient) -> None:
    """Waits until the embedding is ready."""
    for _ in range(200):
        serving = (await rest.get("/v1/embeddings?graph=shop&name=service")).json()["serving"]
        if serving["state"] == "ready":
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the embedding is not ready")
