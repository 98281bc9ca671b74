"""Tokens for tests that call a server which asks for them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from core.access import TokenRequest, create_token, revoke_token
from core.config import Config
from gligabao_mcp.wiring import open_tokens


async def made(config: Config, user: str = "u1", scope: str = "read,write", **more: Any) -> dict[str, str]:
    """The header that shows a new token."""
    async with open_tokens(config) as store:
        asked = TokenRequest.model_validate({"user_id": user, "scope": scope, **more})
        _, secret = await create_token(store, asked, datetime.now(UTC))
    return {"authorization": f"Bearer {secret}"}


async def revoked(config: Config, token_id: int) -> None:
    """Ends a token."""
    async with open_tokens(config) as store:
        await revoke_token(store, token_id, datetime.now(UTC))
