"""The table of failures: every code has its numbers, and what nobody foresaw tells a stranger nothing."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from mcp import Client
from starlette.testclient import TestClient

from core import errors
from core.config import Config
from core.errors import GligabaoError, StorageBusy
from gligabao_mcp.errors import TABLE, failure
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.http import create_app
from gligabao_mcp.mcp_door.server import create_mcp_server
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import Parsed

SECRET = "Alice lives in Paris"
KINDS = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, GligabaoError)]


class Failing(CoreHandle):
    """A handle whose operations all fail with one error."""

    @property
    def opened(self) -> None:
        return None

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def core(self) -> Any: ...

    async def run(self, operation: Operation[Any, Any], parsed: Parsed[Any], **_: Any) -> dict[str, Any]:
        raise self.error

    async def close(self) -> None: ...


def post(error: Exception) -> Any:
    with TestClient(create_app(Failing(error), Config(metrics="off")), base_url="http://localhost") as client:
        return client.post("/v1/gb/query", json={"user_id": "u1", "query": "A?"})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_of_failure_has_its_numbers(kind: type[GligabaoError]) -> None:
    assert kind.code in TABLE
    assert 400 <= TABLE[kind.code].status < 600
    assert TABLE[kind.code].exit_code > 0


def test_a_busy_database_says_when_to_come_back() -> None:
    response = post(StorageBusy("another process holds the database"))
    assert (response.status_code, response.headers["retry-after"]) == (503, "5")
    assert response.json() == {"error": "another process holds the database", "code": "storage_busy"}


@pytest.mark.anyio
async def test_what_nobody_foresaw_is_logged_without_its_text_and_shown_without_anything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def unforeseen() -> Exception:
        try:
            try:
                raise ValueError(SECRET)
            except ValueError as cause:
                raise RuntimeError(SECRET) from cause
        except RuntimeError as error:
            return error

    with caplog.at_level(logging.ERROR):
        response = post(unforeseen())
        async with Client(create_mcp_server(Failing(unforeseen()), Config())) as client:
            result = await client.call_tool("query", {"query": "A?"})
    assert (response.status_code, response.json()) == (500, {"error": "internal error", "code": "internal"})
    assert result.is_error
    assert result.structured_content == {"error": "internal error", "code": "internal"}
    assert "RuntimeError" in caplog.text
    assert "ValueError" in caplog.text
    assert "test_errors.py" in caplog.text
    assert SECRET not in caplog.text


def test_an_error_we_do_not_know_is_internal() -> None:
    assert failure(KeyError("secret")).message == "internal error"
