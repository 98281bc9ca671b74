"""Results of tools, as a model reads them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import mcp_types as types

from gligabao_mcp.conversation import Conversation
from gligabao_mcp.errors import Failure


def success(
    body: dict[str, Any], conversation: Conversation, links: Sequence[types.ResourceLink] = ()
) -> types.CallToolResult:
    """The response body, with the session it belongs to, and links for hosts that open them."""
    session = {} if conversation.session_id is None else {"session_id": conversation.session_id}
    whole = {**session, **body}
    # A run tells of the session that it was told in: how this call's was found says nothing of it.
    if whole.get("session_id") == conversation.session_id or conversation.source == "minted":
        whole["session_source"] = conversation.source
    return _result(whole, links, is_error=False)


def error(shown: Failure) -> types.CallToolResult:
    """A failure that a model can act on."""
    return _result(shown.body(), (), is_error=True)


def _result(body: dict[str, Any], links: Sequence[types.ResourceLink], *, is_error: bool) -> types.CallToolResult:
    """The object twice: for models that are given structured content, and as text for clients that know only text."""
    text = str(body["error"]) if is_error else json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text), *links], structured_content=body, is_error=is_error
    )
