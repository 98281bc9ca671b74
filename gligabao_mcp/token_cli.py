"""gligabao token: makes, lists and revokes what opens the doors over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from core.config import Config
from core.requests import MAX_ID
from gligabao_mcp.commands import (
    SettingsCommand,
    as_json_flag,
    echo_json,
    failures_told,
    run_async,
    settings_in_force,
    with_settings,
)

if TYPE_CHECKING:
    from core.access import Token

# Tokens lie in the database, and nothing else says anything about them.
_UNUSED = Config.model_fields.keys() - {"home", "db", "log_level"}


@click.group()
def token() -> None:
    """Make, list and revoke the bearer tokens that REST and MCP over HTTP ask for."""


@with_settings(*_UNUSED)
@token.command(cls=SettingsCommand)
@click.option("--user", required=True, metavar="NAME", help="Whose memory it opens.")
@click.option("--scope", default="read,write", show_default=True, help="Some of read,write,admin.")
@click.option("--name", help="Where it is used, for whoever reads the list.")
@click.option("--expires", metavar="WHEN", help="90d, 12h, 2w, or a date. Default: never.")
@as_json_flag
def create(as_json: bool, user: str, scope: str, name: str | None, expires: str | None, **flags: Any) -> None:
    """Print a new token, once: it is kept by nobody."""
    with failures_told(as_json):
        asked = {"user_id": user, "scope": scope, "name": name, "expires": expires}
        made, secret = run_async(_create, settings_in_force(flags).config, asked)
        if as_json:
            echo_json({"token": secret, **_body(made)})
        else:
            click.echo(f"{_line(made)}. Keep it now, it is not shown again:", err=True)
            click.echo(secret)


async def _create(config: Config, asked: dict[str, Any]) -> tuple[Token, str]:
    from pydantic import ValidationError

    from core.access import TokenRequest, create_token
    from gligabao_mcp.errors import invalid
    from gligabao_mcp.wiring import open_tokens

    try:
        request = TokenRequest.model_validate(asked)
    except ValidationError as error:
        raise invalid(error, TokenRequest) from None
    async with open_tokens(config) as store:
        return await create_token(store, request, datetime.now(UTC))


@with_settings(*_UNUSED)
@token.command("list", cls=SettingsCommand)
@as_json_flag
def list_(as_json: bool, **flags: Any) -> None:
    """Show the tokens that were made, without the tokens themselves."""
    with failures_told(as_json):
        tokens = run_async(_list, settings_in_force(flags).config)
        if as_json:
            echo_json({"tokens": [_body(one) for one in tokens]})
        else:
            click.echo("\n".join([f"Tokens ({len(tokens)})", *(f"  {_line(one)}" for one in tokens)]))


async def _list(config: Config) -> list[Token]:
    from gligabao_mcp.wiring import open_tokens

    async with open_tokens(config) as store:
        return await store.all()


@with_settings(*_UNUSED)
@token.command(cls=SettingsCommand)
@click.argument("token_id", type=click.IntRange(1, MAX_ID), metavar="ID")
@as_json_flag
def revoke(as_json: bool, token_id: int, **flags: Any) -> None:
    """End the token ID: the next request with it is refused."""
    with failures_told(as_json):
        revoked = run_async(_revoke, settings_in_force(flags).config, token_id)
        if as_json:
            echo_json(_body(revoked))
        else:
            click.echo(_line(revoked))


async def _revoke(config: Config, token_id: int) -> Token:
    from core.access import revoke_token
    from gligabao_mcp.wiring import open_tokens

    async with open_tokens(config) as store:
        return await revoke_token(store, token_id, datetime.now(UTC))


def _body(one: Token) -> dict[str, Any]:
    times = {"created_at": one.created_at, "expires_at": one.expires_at, "revoked_at": one.revoked_at}
    named = {"name": one.name} if one.name else {}
    told = {"id": one.id, "user_id": one.user_id, "scopes": sorted(one.scopes), **named}
    return told | {name: at.isoformat().replace("+00:00", "Z") for name, at in times.items() if at is not None}


def _line(one: Token) -> str:
    """A token in a line, such as: Token 3 of u1 (read, write), laptop, made 2026-03-01, expires 2026-05-30."""
    named = f", {one.name}" if one.name else ""
    return f"Token {one.id} of {one.user_id} ({', '.join(sorted(one.scopes))}){named}, {_times(one)}"


def _times(one: Token) -> str:
    made = f"made {one.created_at:%Y-%m-%d}"
    if one.revoked_at:
        return f"{made}, revoked {one.revoked_at:%Y-%m-%d %H:%M} UTC"
    if one.expires_at is None:
        return made
    word = "expires" if one.holds_at(datetime.now(UTC)) else "expired"
    return f"{made}, {word} {one.expires_at:%Y-%m-%d %H:%M} UTC"
