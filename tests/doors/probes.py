"""Operations of a graph that say what reached them: what its routes do is tested apart from what is behind them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from pydantic import Field

from core.ask.events import Event
from core.core import Core
from core.errors import GligabaoError, ModelUnavailable, NotYetVisible, QuestionLimit
from core.graphs.requests import GraphRead, GraphRequest
from core.requests import Limit, Response
from core.uploads import Document
from gligabao_mcp import graph_rest
from gligabao_mcp.operation import Operation

FAILURES: dict[str, GligabaoError] = {
    "no model": ModelUnavailable("no model answers"),
    "limit": QuestionLimit("the questions of today are asked"),
    "pending": NotYetVisible("the newest commit is 4"),
}


class ProbeRequest(GraphRead):
    """A request with fields of every kind."""

    words: Annotated[str, Field(min_length=1, max_length=10)]
    limit: Limit = 5
    dry_run: bool = False
    anchor: Annotated[list[str] | None, Field(max_length=2)] = None
    class_iri: Annotated[str | None, Field(alias="class")] = None


class Loading(GraphRequest):
    """A document."""

    document: Document
    format: str = "ntriples"
    idempotency_key: str | None = None


class Updating(GraphRequest):
    """A text."""

    update: Annotated[str, Field(min_length=1)]


class Echo(Response):
    """What reached the operation."""

    got: dict[str, Any]


@dataclass
class Probe:
    """What the operations do: which fails and how, and whether those that wait were stopped."""

    started: asyncio.Event = field(default_factory=asyncio.Event)
    stopped: asyncio.Event = field(default_factory=asyncio.Event)
    slow_to_start: bool = False

    async def echo(self, _core: Core, request: ProbeRequest) -> Response:
        """Say what was asked."""
        if request.words in FAILURES:
            raise FAILURES[request.words]
        if request.words == "wait":
            await self._wait()
        return Echo(got=request.model_dump(mode="json", exclude_unset=True, by_alias=True))

    async def events(self, core: Core, request: ProbeRequest) -> AsyncGenerator[Event]:
        """The same in steps."""
        if request.words in FAILURES:
            raise FAILURES[request.words]
        if self.slow_to_start:
            await self._wait()
        yield Event("step", {"n": 1, "input": "two\nlines\u2028and more"})
        if request.words == "break":
            raise FAILURES["no model"]
        if request.words == "go on":
            await self._wait()
        yield Event("done", (await self.echo(core, request)).body())

    async def _wait(self) -> None:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()

    async def load(self, _core: Core, request: Loading) -> Response:
        """Say what was loaded."""
        text = b"".join([piece async for piece in request.document.pieces()]).decode()
        return Echo(got={**request.model_dump(mode="json", exclude_unset=True), "text": text})

    async def update(self, _core: Core, request: Updating) -> Response:
        """Say what was sent."""
        return Echo(got={"update": request.update})


def probed(monkeypatch: pytest.MonkeyPatch) -> Probe:
    """The operations, on routes of their own and with nothing else, until the test ends."""
    probe = Probe()
    reads: dict[str, Any] = {"request": ProbeRequest, "response": Echo, "of_graph": True, "reads_only": True}
    writes: dict[str, Any] = {"response": Echo, "of_graph": True, "reads_only": False, "max_bytes": 1024}
    rows = (
        Operation(
            name="probe",
            title="Probe",
            handler=probe.echo,
            events=probe.events,
            path="/v1/query/probe",
            refused_as="invalid_ask_request",
            removed=("run",),
            **reads,
        ),
        Operation(name="got", title="Got", handler=probe.echo, path="/v1/graph/probe", method="GET", **reads),
        Operation(name="put", title="Put", handler=probe.echo, path="/v1/graph/probe", method="PUT", **reads),
        Operation(name="gone", title="Gone", handler=probe.echo, path="/v1/graph/probe", method="DELETE", **reads),
        Operation(
            name="load",
            title="Load",
            handler=probe.load,
            request=Loading,
            path="/v1/graph/load",
            body_field="document",
            media_types={"text/turtle": {"format": "turtle"}},
            **writes,
        ),
        Operation(
            name="update",
            title="Update",
            handler=probe.update,
            request=Updating,
            path="/update",
            body_field="update",
            says_nothing=True,
            **writes,
        ),
    )
    monkeypatch.setattr(graph_rest, "GRAPH_OPERATIONS", rows)
    return probe
