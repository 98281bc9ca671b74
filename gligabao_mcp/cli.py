"""The command line: which commands there are."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import click

from core.config import Config
from gligabao_mcp import __version__
from gligabao_mcp.commands import (
    PROGRAM,
    SERVED,
    SettingsCommand,
    as_json_flag,
    echo_json,
    failures_told,
    run_async,
    settings_in_force,
    with_settings,
)


def main() -> NoReturn:
    """The entry point. Streams are UTF-8 whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(encoding="utf-8", errors="replace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    cli(prog_name=PROGRAM)
    sys.exit(0)


# Commands of other files, which are imported when one of them is asked for.
ELSEWHERE = {
    "ask": "gligabao_mcp.graph_cli",
    "backup": "gligabao_mcp.upkeep",
    "doctor": "gligabao_mcp.upkeep",
    "export": "gligabao_mcp.transfer_cli",
    "import": "gligabao_mcp.transfer_cli",
    "install": "gligabao_mcp.install.command",
    "load": "gligabao_mcp.graph_cli",
    "reextract": "gligabao_mcp.upkeep",
    "reindex": "gligabao_mcp.upkeep",
    "restore": "gligabao_mcp.upkeep",
    "token": "gligabao_mcp.token_cli",
    "trajectory": "gligabao_mcp.trajectories",
}


# How the help groups them; whatever is not named here is upkeep.
SECTIONS: Mapping[str, Sequence[str]] = {
    "Remember and recall": ("remember", "query", "run", "runs", "demo"),
    "Ask the graph": ("ask", "names", "describe", "sparql", "compare", "commit-at", "load"),
    "Show what is stored": (
        *("status", "datasets", "sessions", "session", "artifacts", "artifact", "entities", "entity"),
        *("edges", "edge", "tombstones"),
    ),
    "Change and forget": ("correct", "merge", "forget", "undo", "purge"),
    "Serve": ("serve", "stdio", "install", "token"),
}


def _command_elsewhere(name: str) -> click.Command | None:
    from importlib import import_module
    from keyword import iskeyword

    attribute = f"{name}_" if iskeyword(name) else name
    return getattr(import_module(ELSEWHERE[name]), attribute) if name in ELSEWHERE else None


def _command_of(operation: str) -> click.Command | None:
    from gligabao_mcp.operation_commands import operation_command

    return operation_command(operation)


class Commands(click.Group):
    """The commands of this file, and one for each operation. The table of operations is read once all of them are asked
    for, or one that is not of this file: `gligabao stdio` starts without it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from gligabao_mcp.operation_commands import commands

        return sorted({*self.commands, *ELSEWHERE, *commands()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or _command_elsewhere(cmd_name) or _command_of(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed = self.list_commands(ctx)
        named = {name for names in SECTIONS.values() for name in names}
        for title, names in {**SECTIONS, "Upkeep": [name for name in listed if name not in named]}.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            width = formatter.width - 6 - max(map(len, listed))
            with formatter.section(title):
                formatter.write_dl([(name, one.get_short_help_str(width)) for name, one in commands if one])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=PROGRAM)
def cli() -> None:
    """The memory that an AI agent can show the work of."""


@with_settings()
@cli.command(cls=SettingsCommand)
def serve(**flags: Any) -> None:
    """Serve REST and MCP over HTTP, on this machine alone by default."""
    with failures_told():
        config = settings_in_force(flags, server=True).config
        from gligabao_mcp.serve import run

        run(config)


@with_settings(*SERVED)
@cli.command(cls=SettingsCommand)
def stdio(**flags: Any) -> None:
    """Serve MCP over stdin and stdout: what an MCP client starts by itself."""
    from gligabao_mcp.stdio import Wire, run

    wire = Wire()
    with failures_told():
        run(settings_in_force(flags, server=True).config, os.environ, wire)


@with_settings()
@cli.command(cls=SettingsCommand)
@as_json_flag
def status(as_json: bool, **flags: Any) -> None:
    """Show the settings in force, the users and datasets, and what is off and why."""
    with failures_told(as_json):
        settings = settings_in_force(flags)
        from gligabao_mcp.report import settings_body, show_settings, show_status, status_body

        found = run_async(_status, settings.config)
        if as_json:
            echo_json({"settings": settings_body(settings), **status_body(found)})
        else:
            click.echo(f"{show_settings(settings)}\n\n{show_status(found)}")


async def _status(config: Config) -> Any:
    from core.status import status
    from gligabao_mcp.wiring import open_core

    async with open_core(config) as core:
        return await status(core)


@with_settings(*SERVED, "user_id")
@cli.command(cls=SettingsCommand)
@click.option("--by", metavar="KEYS", default="day", show_default=True, help="Some of day,stage,model,user,type.")
@click.option("--from", "since", metavar="TIME", help="Only calls at this time or later (RFC 3339 or a date).")
@click.option("--to", "until", metavar="TIME", help="Only calls before this time (RFC 3339 or a date).")
@click.option("--user-id", help="Only calls for this user.")
@click.option("--dataset", help="Only calls for datasets of this name.")
@as_json_flag
def costs(
    as_json: bool,
    by: str,
    since: str | None,
    until: str | None,
    user_id: str | None,
    dataset: str | None,
    **flags: Any,
) -> None:
    """Show what model calls took and cost."""
    with failures_told(as_json):
        asked = {"by": by, "from": since, "to": until, "user_id": user_id, "dataset": dataset}
        body = run_async(_costs, asked, settings_in_force(flags).config)
        if as_json:
            echo_json(body)
        else:
            from gligabao_mcp.report import show_costs

            click.echo(show_costs(body))


async def _costs(asked: dict[str, Any], config: Config) -> dict[str, Any]:
    from gligabao_mcp.operations import ADMIN_COSTS, execute, parse
    from gligabao_mcp.wiring import open_core

    async with open_core(config) as core:
        return await execute(ADMIN_COSTS, core, parse(ADMIN_COSTS, {"db": core.database, **asked}))


@with_settings(*SERVED)
@cli.command(cls=SettingsCommand)
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many, the newest.")
@click.option("--follow", is_flag=True, help="Go on with those to come, until Ctrl-C.")
def events(limit: int, follow: bool, **flags: Any) -> None:
    """Show what was called, an event a line, as JSON without texts."""
    with failures_told(), contextlib.suppress(KeyboardInterrupt):
        run_async(_events, limit, follow, settings_in_force(flags).config)


async def _events(limit: int, follow: bool, config: Config) -> None:
    import asyncio
    import json

    from gligabao_mcp.wiring import open_core

    last = 0
    async with open_core(config) as core:
        while True:
            for event_id, event in await core.events.newest(limit, after=last):
                click.echo(json.dumps(event, ensure_ascii=False))
                last = event_id
            if not follow:
                return
            await asyncio.sleep(1)
            limit = 10_000


def _silent(_line: str = "") -> None:
    """Says nothing: what is printed is the JSON."""


@with_settings(*SERVED)
@cli.command(cls=SettingsCommand)
@as_json_flag
def demo(as_json: bool, **flags: Any) -> None:
    """Remember a small story and ask about it, with no key and no network."""
    with failures_told(as_json):
        from gligabao_mcp import demo as story

        played = story.run(settings_in_force(flags).config, say=_silent if as_json else click.echo)
        if as_json:
            echo_json(played)


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes commands and flags in a shell."""
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    assert complete is not None
    click.echo(complete(cli, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())
