"""What a request over MCP lets us know of who sends it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from mcp.server.context import ServerRequestContext

from gligabao_mcp.callers import caller_of
from gligabao_mcp.conversation import Launch, Signals

Context = ServerRequestContext[Any, Any]


def signals_of(context: Context, launch: Launch | None, session_id: object = None) -> Signals:
    """The signals of a request of either protocol era. `session_id` is the argument of a tool, as it was sent."""
    client, caller = context.session.client_params, caller_of(context.request)
    return Signals(
        argument=session_id if isinstance(session_id, str) else "",
        headers=cast("Mapping[str, str]", getattr(context.request, "headers", {})),
        meta=cast("Mapping[str, Any]", context.meta or {}),
        client=client.client_info.name if client else "",
        token_user=caller.user_id if caller else "",
        launch=launch,
    )
