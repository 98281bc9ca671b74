"""The command line: one command per operation, its flags read from the request model and the settings."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from core.config import Config
from gligabao_mcp import __version__
from gligabao_mcp.settings import Settings, choices, flag, is_secret, load

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from gligabao_mcp.operations import Operation

PROGRAM = "gligabao"
T = TypeVar("T")


def main() -> NoReturn:
    """The entry point. Streams are UTF-8 whatever the locale says."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):
            stream.reconfigure(encoding="utf-8", errors="replace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    cli(prog_name=PROGRAM)
    sys.exit(0)


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


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=PROGRAM)
def cli() -> None:
    """The memory that an AI agent can show the work of."""


def with_settings(*left_out: str) -> Callable[[T], T]:
    """Adds a flag for every setting that is no secret."""

    def add(command: T) -> T:
        assert isinstance(command, click.Command)
        for name, field in Config.model_fields.items():
            if not is_secret(field) and name not in left_out:
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


def _settings(flags: Mapping[str, object], *, server: bool = False) -> Settings:
    """The settings in force, with logging started: to stderr, never to stdout. Who types a command reads its output,
    and no warnings meant for the log of a server, unless they are asked for."""
    given = {name: value for name, value in flags.items() if name in Config.model_fields}
    settings = load(given, os.environ)
    asked = server or settings.sources["log_level"] != "default"
    _start_logging(settings.config.log_level if asked else "error")
    return settings


def _start_logging(level: str) -> None:
    import logging

    logging.basicConfig(
        stream=sys.stderr, level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )


@contextlib.contextmanager
def _failures(as_json: bool = False) -> Generator[None]:
    """Ends the command with the text and the exit code of what went wrong."""
    try:
        yield
    except (click.ClickException, click.Abort, click.exceptions.Exit, BrokenPipeError):
        raise  # click knows what to do, also when whoever read the output (`| head`) has gone
    except Exception as error:
        from gligabao_mcp.errors import failure

        shown = failure(error)
        if as_json:
            _echo_json(shown.body())
        else:
            click.echo(f"{PROGRAM}: {shown.message}", err=True)
        raise SystemExit(shown.numbers.exit_code) from None


def _echo_json(body: Mapping[str, Any]) -> None:
    import json

    click.echo(json.dumps(body, ensure_ascii=False, indent=2))


@with_settings()
@cli.command(cls=SettingsCommand)
def serve(**flags: Any) -> None:
    """Serve REST and MCP over HTTP, on this machine alone by default."""
    with _failures():
        config = _settings(flags, server=True).config
        from gligabao_mcp.serve import run

        run(config)


@with_settings("host", "port")
@cli.command(cls=SettingsCommand)
def stdio(**flags: Any) -> None:
    """Serve MCP over stdin and stdout: what an MCP client starts by itself."""
    from gligabao_mcp.stdio import Wire, run

    wire = Wire()
    with _failures():
        run(_settings(flags, server=True).config, os.environ, wire)


_as_json = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@with_settings()
@cli.command(cls=SettingsCommand)
@_as_json
def status(as_json: bool, **flags: Any) -> None:
    """Show the settings in force, the users and datasets, and what is off and why."""
    with _failures(as_json):
        settings = _settings(flags)
        from gligabao_mcp.report import settings_body, show_settings, show_status, status_body

        found = _run(_status, settings.config)
        if as_json:
            _echo_json({"settings": settings_body(settings), **status_body(found)})
        else:
            click.echo(f"{show_settings(settings)}\n\n{show_status(found)}")


async def _status(config: Config) -> Any:
    from core.status import status
    from gligabao_mcp.wiring import open_core

    async with open_core(config) as core:
        return await status(core)


def _silent(_line: str = "") -> None:
    """Says nothing: what is printed is the JSON."""


@with_settings("host", "port")
@cli.command(cls=SettingsCommand)
@_as_json
def demo(as_json: bool, **flags: Any) -> None:
    """Remember a small story and ask about it, with no key and no network."""
    with _failures(as_json):
        from gligabao_mcp import demo as story

        played = story.run(_settings(flags).config, say=_silent if as_json else click.echo)
        if as_json:
            _echo_json(played)


@cli.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes commands and flags in a shell."""
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    assert complete is not None
    click.echo(complete(cli, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE").source())


def _run(work: Callable[..., Any], *arguments: Any) -> Any:
    import asyncio

    return asyncio.run(work(*arguments))


# One command per operation. Their models are imported when one of them is asked for, not for `gligabao stdio`.


class OperationCommand(SettingsCommand):
    """A command whose flags are read from the request model when they are needed."""

    def __init__(self, name: str, operation: Callable[[], Operation[Any, Any]], help: str) -> None:
        super().__init__(name, help=help)
        self._operation = operation

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if not self.params:
            operation = self._operation()
            with_settings("host", "port", *operation.request.model_fields)(self)
            self.params = [*_operation_params(operation), *self.params]
        return super().get_params(ctx)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.help = self._operation().summary
        super().format_help_text(ctx, formatter)

    def invoke(self, ctx: click.Context) -> None:
        _call(self._operation(), ctx.params)


def _operation_params(operation: Operation[Any, Any]) -> list[click.Parameter]:
    main = operation.main_field
    params: list[click.Parameter] = [click.Argument([main], nargs=-1, metavar=f"[{main.upper()}]...")]
    params += [
        _option(n, f) for n, f in operation.request.model_fields.items() if n != main and f.annotation is not Any
    ]
    return [
        *params,
        click.Option(["--file", "file"], type=click.Path(dir_okay=False), help=f"Read the {main} from this file."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print the response as JSON."),
    ]


def _option(name: str, field: FieldInfo) -> click.Option:
    hidden = (field.description or "").startswith("Not available")
    if field.annotation is bool:
        return click.Option(
            [f"{flag(name)}/--no-{flag(name)[2:]}"], default=None, help=field.description, hidden=hidden
        )
    structured = any(word in str(field.annotation) for word in ("list[", "dict["))
    return click.Option([flag(name)], metavar="JSON" if structured else "TEXT", help=field.description, hidden=hidden)


def _call(operation: Operation[Any, Any], given: dict[str, Any]) -> None:
    as_json, file = given.pop("as_json"), given.pop("file")
    with _failures(as_json):
        settings = _settings({n: v for n, v in given.items() if n not in operation.request.model_fields})
        payload = {name: value for name, value in given.items() if name in operation.request.model_fields}
        payload[operation.main_field] = _main_text(given[operation.main_field], file, operation.main_field)
        payload["user_id"] = payload.get("user_id") or settings.config.user_id
        body = _run(_execute, operation, _structured(payload), settings.config)
        if as_json:
            _echo_json(body)
        else:
            from gligabao_mcp.report import show

            click.echo(show(operation.name, body))


async def _execute(operation: Operation[Any, Any], payload: dict[str, Any], config: Config) -> dict[str, Any]:
    from gligabao_mcp.operations import execute, parse

    parsed = parse(operation, payload)
    from gligabao_mcp.wiring import open_core

    async with open_core(config) as core:
        return await execute(operation, core, parsed)


def _main_text(words: Sequence[str], file: str | None, name: str) -> str:
    """The text: the words of the command line, a file, or stdin. Always read as UTF-8."""
    if file is not None:
        if words:
            raise click.UsageError(f"give the {name} or --file, not both")
        try:
            with open(file, "rb") as source:
                return _utf8(source.read())
        except OSError as error:
            raise click.UsageError(f"can't read {file}: {error.strerror}") from None
    if words and tuple(words) != ("-",):
        return " ".join(map(_word, words))
    if sys.stdin.isatty():
        click.echo(f"Type the {name} and end it with Ctrl-D.", err=True)
    return _utf8(sys.stdin.buffer.read())


def _word(word: str) -> str:
    try:
        return _utf8(os.fsencode(word))  # undoes what a locale that is not UTF-8 made of it
    except UnicodeEncodeError:
        return word


def _utf8(text: bytes) -> str:
    # Bytes that are no UTF-8 become lone surrogates, which the common clean-up replaces and reports.
    return text.decode("utf-8", "surrogateescape")


def _structured(payload: dict[str, Any]) -> dict[str, Any]:
    """Flags that hold a list or an object, read as JSON; a word that is no JSON stays what it is."""
    import json

    read = dict(payload)
    for name, value in payload.items():
        if isinstance(value, str) and value[:1] in ("{", "[") and name in ("entities", "edges", "models", "reasoning"):
            with contextlib.suppress(ValueError):
                read[name] = json.loads(value)
    return read


def _operation(name: str) -> Operation[Any, Any]:
    from gligabao_mcp.operations import OPERATIONS

    return next(operation for operation in OPERATIONS if operation.name == name)


cli.add_command(OperationCommand("remember", lambda: _operation("remember"), "Remember a text."))
cli.add_command(OperationCommand("query", lambda: _operation("query"), "Answer a question from memory."))
