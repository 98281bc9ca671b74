"""What commands share: settings as flags, and results and failures as a person or a script reads them."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from core.config import Config
from gligabao_mcp.settings import Settings, choices, flag, is_secret, is_table, load

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

PROGRAM = "gligabao"
OUR_LOGGERS = ("core", "gligabao", "gligabao_mcp", "storage")
T = TypeVar("T")

as_json_flag = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


class SettingsCommand(click.Command):
    """A command whose help lists the settings apart from its own flags."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {"Options": [], "Settings (also GLIGABAO_… and gligabao.toml)": []}
        own, settings = groups.values()
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                (settings if isinstance(param, SettingOption) else own).append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


class SettingOption(click.Option):
    """A flag that sets a setting."""


# The settings that only `serve` reads.
SERVED = (
    *("host", "port", "tokens", "insecure", "allowed_hosts", "allowed_origins", "cors_origins", "public_url"),
    *("rate_limit_per_minute", "admin", "metrics"),
)


def with_settings(*left_out: str) -> Callable[[T], T]:
    """Adds a flag for every setting that is no secret."""

    def add(command: T) -> T:
        assert isinstance(command, click.Command)
        for name, field in Config.model_fields.items():
            if not is_secret(field) and not is_table(field) and name not in left_out:
                command.params.append(_setting_option(name, field))
        return command

    return add


def _setting_option(name: str, field: FieldInfo) -> SettingOption:
    few = choices(field)
    if field.annotation is bool:
        return SettingOption([f"{flag(name)}/--no-{flag(name)[2:]}"], default=None, help=field.description)
    many = getattr(field.annotation, "__origin__", None) is tuple
    return SettingOption(
        [flag(name)],
        type=click.Choice(few) if few else str,
        multiple=many,
        callback=_given_or_none if many else None,
        help=field.description,
    )


def _given_or_none(_context: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...] | None:
    return value or None


def settings_in_force(flags: Mapping[str, object], *, server: bool = False) -> Settings:
    """The settings in force, with logging started: to stderr, never to stdout. Who types a command reads its output,
    and no warnings meant for the log of a server, unless they are asked for."""
    given = {name: value for name, value in flags.items() if name in Config.model_fields}
    settings = load(given, os.environ)
    asked = server or settings.sources["log_level"] != "default"
    _start_logging(settings.config.log_level if asked else "error")
    return settings


def _start_logging(level: str) -> None:
    import logging

    handler = logging.StreamHandler(sys.stderr)
    # Below a warning libraries write down whole requests and answers, and addresses with keys in them.
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name.split(".")[0] in OUR_LOGGERS)
    logging.basicConfig(
        handlers=[handler], level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )


@contextlib.contextmanager
def failures_told(as_json: bool = False) -> Generator[None]:
    """Ends the command with the text and the exit code of what went wrong."""
    try:
        yield
    except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
        raise  # click knows what to do, also when whoever read the output (`| head`) has gone
    except Exception as error:
        from gligabao_mcp.errors import failure

        shown = failure(error)
        if as_json:
            echo_json(shown.body())
        else:
            click.echo(f"{PROGRAM}: {shown.message}", err=True)
        raise SystemExit(shown.numbers.exit_code) from None


def echo_json(body: Mapping[str, Any]) -> None:
    import json

    click.echo(json.dumps(body, ensure_ascii=False, indent=2))


def run_async(work: Callable[..., Any], *arguments: Any) -> Any:
    import asyncio

    return asyncio.run(work(*arguments))
