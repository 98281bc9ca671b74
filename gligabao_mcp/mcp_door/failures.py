"""Failures of what is no tool: errors of the protocol in our words, the same in both eras."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from gligabao_mcp.errors import failure


def check_is_first_page(params: types.PaginatedRequestParams | None) -> None:
    """Raises MCPError for a cursor: each list is one page, and none gave one. An empty one counts as not given."""
    if params and params.cursor:
        raise MCPError(code=types.INVALID_PARAMS, message="cursor: this list has one page")


async def in_our_words(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """A middleware of the SDK's server, which would send what an exception says to clients of the handshake era, and
    log it. Invalid params where the request is at fault, else an internal error; `data.code` is ours."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except Exception as error:
        shown = failure(error)
        code = types.INVALID_PARAMS if 400 <= shown.numbers.status < 500 else types.INTERNAL_ERROR
        raise MCPError(code=code, message=shown.message, data={"code": shown.code}) from None
