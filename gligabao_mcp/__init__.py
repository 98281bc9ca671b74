"""gligabao-mcp: the memory that an AI agent can show the work of.

async with open_core(Config(llm="local")) as core:
    await remember(core, RememberRequest(user_id="local", text="Alice works at Acme."))
    print(await query(core, QueryRequest(user_id="local", query="Where does Alice work?")))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.config import Config
    from core.query.query import QueryRequest, QueryResponse, query
    from core.remember.remember import remember
    from core.remember.request import RememberRequest
    from core.remember.response import RememberResponse
    from gligabao_mcp.wiring import open_core

__version__ = "0.1.0"

__all__ = [
    "Config",
    "QueryRequest",
    "QueryResponse",
    "RememberRequest",
    "RememberResponse",
    "open_core",
    "query",
    "remember",
]

# Where each name comes from: it is imported when it is first asked for, since a stdio server must start at once.
_HOME = {
    "Config": "core.config",
    "QueryRequest": "core.query.query",
    "QueryResponse": "core.query.query",
    "RememberRequest": "core.remember.request",
    "RememberResponse": "core.remember.response",
    "open_core": "gligabao_mcp.wiring",
    "query": "core.query.query",
    "remember": "core.remember.remember",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
