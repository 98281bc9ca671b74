"""Tokens as they are kept, on SQLite and PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.access import TokenRequest, check_token, create_token, revoke_token
from core.config import Config
from core.errors import InvalidRequest, NotFound
from gligabao_mcp.wiring import open_tokens
from tests.conftest import Tables

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def asked(**more: Any) -> TokenRequest:
    return TokenRequest.model_validate({"user_id": "u1", **more})


async def test_a_token_opens_until_it_expires_or_is_revoked(config: Config) -> None:
    async with open_tokens(config) as store:
        kept, secret = await create_token(store, asked(scope="read, write", name="laptop", expires="90d"), NOW)
        assert (kept.user_id, kept.scopes, kept.name) == ("u1", {"read", "write"}, "laptop")
        assert kept.expires_at == NOW + 90 * DAY
        assert await check_token(store, secret, NOW) == kept
        assert await check_token(store, secret, NOW + 90 * DAY) is None
        other, second = await create_token(store, asked(scope="admin"), NOW)
        revoked = await revoke_token(store, other.id, NOW + DAY)
        assert await check_token(store, second, NOW) is None
        assert await revoke_token(store, other.id, NOW + 2 * DAY) == revoked, "it was revoked then, and not again"
        assert [token.revoked_at for token in await store.all()] == [None, NOW + DAY]
        with pytest.raises(NotFound, match=r"^id: no token has this id$"):
            await revoke_token(store, 99, NOW)


async def test_what_is_kept_opens_nothing(config: Config, tables: Tables) -> None:
    async with open_tokens(config) as store:
        _, secret = await create_token(store, asked(), NOW)
        (row,) = tables.rows("SELECT * FROM gb_tokens")
        assert secret.startswith("gbt_") and len(secret) >= 4 + 256 / 6
        assert not any(secret[4:] in str(value) for value in row.values())
        for shown in (row["digest"], f"gbt_{row['digest']}", "", "gbt_", secret[:-1], f"{secret}x", secret.upper()):
            assert await check_token(store, shown, NOW) is None
        assert (await create_token(store, asked(), NOW))[1] != secret


@pytest.mark.parametrize(
    ("expires", "at"),
    [
        ("12h", NOW + DAY / 2),
        ("2w", NOW + 14 * DAY),
        ("2026-04-01", datetime(2026, 4, 1, tzinfo=UTC)),
        ("2026-04-01T10:00:00+02:00", datetime(2026, 4, 1, 8, tzinfo=UTC)),
    ],
)
async def test_the_end_is_a_span_or_a_date(config: Config, expires: str, at: datetime) -> None:
    async with open_tokens(config) as store:
        assert (await create_token(store, asked(expires=expires), NOW))[0].expires_at == at


@pytest.mark.parametrize("expires", ["soon", "90", "0d", "-1d", "2026-03-01", "90 days", "999999d"])
async def test_an_end_that_is_none_makes_no_token(config: Config, tables: Tables, expires: str) -> None:
    async with open_tokens(config) as store:
        with pytest.raises(InvalidRequest, match=r"^expires: must "):
            await create_token(store, asked(expires=expires), NOW)
    assert tables.count("gb_tokens") == 0


def test_a_token_is_for_a_user_and_for_something() -> None:
    for wrong in ({"user_id": ""}, {"user_id": "u\n"}, {"scope": ""}, {"scope": "read,root"}, {"name": "n" * 129}):
        with pytest.raises(ValueError, match="must "):
            asked(**wrong)
