"""The settings of one process, each described once: file, environment and flags all read this model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr

DEFAULT_MODEL = "claude-haiku-5-5"


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
    jev_api_key: Annotated[SecretStr | None, Field(description="Key of Jev, which predicts a text's complexity.")] = (
        None
    )
    jev_base_url: Annotated[str, Field(description="Address of Jev.")] = "https://api.typesafe.ai"

    embedder: Annotated[
        Literal["auto", "none", "openai", "local"],
        Field(description="Who makes vectors. auto: local with llm = local, openai when its key is set, else nobody."),
    ] = "auto"
    embedding_model: Annotated[str, Field(description="Model name for embedder = openai.")] = "text-embedding-3-small"
    embedding_dimensions: Annotated[int, Field(ge=1, le=8192, description="Size of the vectors.")] = 1536
    embedding_base_url: Annotated[str, Field(description="Address of an OpenAI-compatible embeddings server.")] = ""

    chunk_size: Annotated[int, Field(ge=64, le=8192, description="Tokens of the longest text that is read whole.")] = (
        1024
    )
    model_deadline: Annotated[float, Field(gt=0, description="Seconds for one model call, retries included.")] = 50.0
    require_names_in_text: Annotated[bool, Field(description="Drop extracted names that do not occur in the text.")] = (
        False
    )
    mask_secrets: Annotated[
        bool, Field(description="Mask API keys, tokens and passwords in a text before it is kept.")
    ] = False

    host: Annotated[str, Field(description="Address that serve listens on.")] = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535, description="Port that serve listens on.")] = 7878
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
