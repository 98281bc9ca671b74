"""The settings of one process, each described once: file, environment and flags all read this model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from core.prices import Price

DEFAULT_MODEL = "claude-haiku-5-5"
DEFAULT_ASK_MODEL = "claude-sonnet-5-5"
# How a model of the Anthropic API is asked to think: gligabao_mcp/providers/thinking.py says what each means.
ThinkingStyle = Literal["off", "budget", "adaptive", "between_tools", "always"]
# Whom a door that tells of every user is open to.
Reach = Literal["loopback", "on", "off"]


class ModelSetting(BaseModel):
    """What gligabao.toml says of one model, a row of `[models]`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    thinking: ThinkingStyle


class Config(BaseModel):
    """Where the memory lies, who reads and answers, and how the doors listen."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    home: Annotated[
        Path | None, Field(description="Folder of the database and the vectors. Default: the user's data folder.")
    ] = None
    db: Annotated[str | None, Field(description="SQLite file, or postgresql+psycopg://user:password@host/name.")] = None
    vectors: Annotated[
        str | None, Field(description="Folder or URI of the vector index. Default: beside the database.")
    ] = None
    durability: Annotated[Literal["full", "normal"], Field(description="full: a memory survives a power cut.")] = "full"

    llm: Annotated[
        Literal["auto", "none", "anthropic", "openai", "local"],
        Field(description="Who reads and answers. auto: anthropic if its key is set, else nobody. local: embedded."),
    ] = "auto"
    llm_model: Annotated[str, Field(description="Model name for llm. Default with anthropic: claude-haiku-5-5.")] = ""
    llm_base_url: Annotated[str, Field(description="Address of an OpenAI-compatible server for llm = openai.")] = ""
    llm_reasoning_effort: Annotated[bool, Field(description="Whether that server takes reasoning_effort.")] = False
    anthropic_api_key: Annotated[SecretStr | None, Field(description="Key for llm = anthropic.")] = None
    anthropic_base_url: Annotated[str, Field(description="Other address of the Anthropic API.")] = ""
    openai_api_key: Annotated[
        SecretStr | None, Field(description="Key for OpenAI embeddings, and for llm = openai.")
    ] = None
    openai_base_url: Annotated[str, Field(description="Other address of the OpenAI API (ends in /v1).")] = ""
    jev_api_key: Annotated[
        SecretStr | None, Field(description="Key of Jev, which predicts a text's complexity and sorts questions.")
    ] = None
    jev_base_url: Annotated[str, Field(description="Address of Jev.")] = "https://api.typesafe.ai"

    ask_model: Annotated[
        str,
        Field(description="Model that answers ask. Default with anthropic: claude-sonnet-5-5, with openai: llm_model."),
    ] = ""
    ask_router_model: Annotated[
        str,
        Field(description="Model that sorts questions where Jev does not. Default with anthropic: claude-haiku-5-5."),
    ] = ""
    ask_questions_per_day: Annotated[
        int, Field(ge=0, description="Questions of a UTC day that ask takes, those of all processes together.")
    ] = 500

    embedder: Annotated[
        Literal["auto", "none", "openai", "local"],
        Field(description="Who makes vectors. auto: local with llm = local, openai when its key is set, else nobody."),
    ] = "auto"
    embedding_model: Annotated[str, Field(description="Model name for embedder = openai.")] = "text-embedding-3-small"
    embedding_dimensions: Annotated[int, Field(ge=1, le=8192, description="Size of the vectors.")] = 1536
    embedding_base_url: Annotated[str, Field(description="Address of an OpenAI-compatible embeddings server.")] = ""

    offline: Annotated[
        bool, Field(description="Nothing may leave this machine: settings that lead out are refused, keys not used.")
    ] = False
    chunk_size: Annotated[int, Field(ge=64, le=8192, description="Tokens of the longest text that is read whole.")] = (
        1024
    )
    chunk_overlap_percent: Annotated[
        int, Field(ge=0, le=50, description="How much of a chunk the next one repeats at most, in percent.")
    ] = 20
    model_deadline: Annotated[float, Field(gt=0, description="Seconds for one model call, retries included.")] = 50.0
    require_names_in_text: Annotated[bool, Field(description="Drop extracted names that do not occur in the text.")] = (
        False
    )
    store_images: Annotated[bool, Field(description="Keep the bytes of an image beside what was read from it.")] = False
    mask_secrets: Annotated[
        bool, Field(description="Mask API keys, tokens and passwords in a text before it is kept.")
    ] = False

    queue_size: Annotated[
        int, Field(ge=1, le=10_000, description="How many calls of remember may wait or run at once in the database.")
    ] = 100

    prices: dict[str, Price] = Field(
        default_factory=dict[str, Price],
        description="US dollars per million tokens of a model, over the built-in list (a table of gligabao.toml).",
    )
    models: dict[str, ModelSetting] = Field(
        default_factory=dict[str, ModelSetting],
        description="How a model of the Anthropic API thinks (a table of gligabao.toml).",
    )
    daily_spend_limit_usd: Annotated[
        float | None, Field(ge=0, description="US dollars of a UTC day; then no paid model call is made. Default: off.")
    ] = None
    daily_spend_limit_usd_per_user: Annotated[
        float | None, Field(ge=0, description="The same for each user by itself. Default: off.")
    ] = None
    event_webhook_url: Annotated[
        SecretStr | None, Field(description="Where each event is sent as JSON. Default: nowhere.")
    ] = None

    base_iri: Annotated[
        str, Field(description="What the IRIs of an export to RDF begin with. Default: urn:gligabao:<dataset>:")
    ] = ""
    max_import_bytes: Annotated[int, Field(ge=1, description="Bytes of the largest document that import takes.")] = (
        1024 * 1024 * 1024
    )
    trajectory: Annotated[
        bool, Field(description="Write the course of remember, query and ask to files, texts included (ATIF 1.8).")
    ] = False
    trajectory_dir: Annotated[
        Path | None, Field(description="Folder of those files. Default: trajectories in the data folder.")
    ] = None
    undo_days: Annotated[
        int, Field(ge=0, le=3650, description="Days in which a forget or a merge can be undone; purged after.")
    ] = 30
    tool_result_tokens: Annotated[
        int, Field(ge=500, description="Tokens of the longest result of an MCP tool; what is longer is cut into parts.")
    ] = 8000
    tools: Annotated[
        Literal["default", "full"],
        Field(description="Which MCP tools are offered. full: remember_status, forget and browse, too."),
    ] = "default"
    tool_answer_seconds: Annotated[
        float, Field(gt=0, description="Seconds after which remember as an MCP tool answers that its run goes on.")
    ] = 45.0
    host: Annotated[str, Field(description="Address that serve listens on.")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="Port that serve listens on.")] = 7878
    tokens: Annotated[
        Literal["auto", "on", "off"],
        Field(description="Whether REST and MCP ask for bearer tokens. auto: where host is not this machine alone."),
    ] = "auto"
    insecure: Annotated[bool, Field(description="Let other machines in without tokens.")] = False
    allowed_hosts: Annotated[
        tuple[str, ...],
        Field(description="Further names in the Host header that are this server, such as memory.example.com."),
    ] = ()
    allowed_origins: Annotated[
        tuple[str, ...],
        Field(description="Web pages besides local ones that may send requests, such as https://*.example.com."),
    ] = ()
    cors_origins: Annotated[
        tuple[str, ...], Field(description="Web pages that may send requests and read the answers. Default: none.")
    ] = ()
    public_url: Annotated[
        str, Field(description="Address that clients know the server by, without a path. Default: as each was called.")
    ] = ""
    rate_limit_per_minute: Annotated[
        int | None,
        Field(ge=0, description="Requests of one user in a minute, in this process. 0: any. Default: 600 with tokens."),
    ] = None
    admin: Annotated[
        Reach, Field(description="Who reads runs and costs of all users at /v1/gb/admin. loopback: this machine alone.")
    ] = "loopback"
    metrics: Annotated[Reach, Field(description="Who reads /metrics for Prometheus. loopback: this machine alone.")] = (
        "loopback"
    )
    user_id: Annotated[str, Field(description="The user where a door names none (MCP, command line).")] = "local"
    session_id: Annotated[str, Field(description="The session where a stdio client names none.")] = ""
    session_fallback: Annotated[
        Literal["auto", "none"], Field(description="none: never take a connection for a session.")
    ] = "auto"
    session_meta_keys: Annotated[
        tuple[str, ...], Field(description="Further _meta keys that name a conversation.")
    ] = ()
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], Field(description="What is logged, to stderr.")
    ] = "warning"
