"""The command `gligabao install`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast, get_args

import click

from core.errors import InvalidRequest
from gligabao_mcp.commands import SERVED, SettingsCommand, failures_told, with_settings
from gligabao_mcp.install import files
from gligabao_mcp.install.clients import CLIENTS
from gligabao_mcp.install.entries import Entry, Launcher
from gligabao_mcp.install.plan import Plan, plan

TRIES = 3


@with_settings(*SERVED)
@click.command(cls=SettingsCommand)
@click.argument("client", type=click.Choice(list(CLIENTS)))
@click.option("--name", default="gligabao", show_default=True, help="What the client calls the server.")
@click.option("--project", is_flag=True, help="Into the configuration of the project in this folder.")
@click.option("--file", type=click.Path(dir_okay=False, path_type=Path), help="Into another file of the same form.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--remove", is_flag=True, help="Take the server out.")
@click.option(
    "--command",
    "launcher",
    type=click.Choice(get_args(Launcher)),
    default="auto",
    show_default=True,
    help="What starts it. auto: the script of this installation where it lasts, else uvx.",
)
@click.option("--http", "url", metavar="URL", help="The address of a server that runs, instead of starting one.")
@click.option("--token-env", metavar="NAME", help="With --http: the variable that holds the token.")
@click.option("--env", "passed_on", multiple=True, metavar="NAME", help="Pass a variable on by its name.")
@click.option(
    "--copy-env", "copied", multiple=True, metavar="NAME", help="Write the value of a variable into the file."
)
def install(client: str, **given: Any) -> None:
    """Write this server into the configuration of an MCP client, and keep everything else that is there.

    The old file is kept beside the new one. Settings below become variables of the server (GLIGABAO_…).
    """
    with failures_told():
        asked = plan(CLIENTS[client], given)
        click.echo(_shown(asked) if given["dry_run"] else _carried_out(asked))


def _shown(asked: Plan) -> str:
    old = files.read(asked.file)
    return asked.hidden(old.diff(asked.applied(old))).rstrip("\n") or _unchanged(asked, old)


def _carried_out(asked: Plan) -> str:
    for _ in range(TRIES):
        old = files.read(asked.file)
        text = asked.applied(old)
        if text == old.text:
            return _unchanged(asked, old)
        with suppress(files.Changed):  # clients write their own file, and what they wrote must not be lost
            return _done(asked, old, files.replace(old, text))
    raise InvalidRequest(f"{asked.file} is being written by another program; end it and try again")


def _done(asked: Plan, old: files.Configuration, backup: Path | None) -> str:
    kept = f" The old file is {backup}." if backup else ""
    if asked.entry is None:
        return f"{asked.name}: taken out of {old.path}.{kept}"
    return f"{asked.name}: written to {old.path}.{kept}\nNext: {_first_start(asked.entry)}{asked.client.then}."


def _first_start(entry: Entry) -> str:
    """What uvx has to do once, and clients do not wait for."""
    command, args = str(entry.get("command", "")), cast("Sequence[str]", entry.get("args", ()))
    if Path(command).stem != "uvx":
        return ""
    once = [command, *args[:-1], "--version"]
    return f"run `{shlex.join(once)}` once, for that downloads it; "


def _unchanged(asked: Plan, old: files.Configuration) -> str:
    return f"{asked.name}: {'not in' if asked.entry is None else 'already in'} {old.path}; nothing to change."
