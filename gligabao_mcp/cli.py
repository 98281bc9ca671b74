"""The command line: one command per operation, its flags read from the request model and the settings."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, get_args

import click

from core.config import Config
from gligabao_mcp import __version__
from gligabao_mcp.settings import Settings, choices, flag, is_secret, is_table, load

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from gligabao_mcp.operations import Operation

PROGRAM = "gligabao"
OUR_LOGGERS = ("core", "gligabao", "gligabao_mcp", "storage")
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


# Commands of other files, which are imported when one of them is asked for.
ELSEWHERE = {
    "backup": "gligabao_mcp.upkeep",
    "doctor": "gligabao_mcp.upkeep",
    "export": "gligabao_mcp.transfer_cli",
    "import": "gligabao_mcp.transfer_cli",
    "install": "gligabao_mcp.install.command",
    "reextract": "gligabao_mcp.upkeep",
    "reindex": "gligabao_mcp.upkeep",
    "restore": "gligabao_mcp.upkeep",
    "token": "gligabao_mcp.token_cli",
    "trajectory": "gligabao_mcp.trajectories",
}


def _command_elsewhere(name: str) -> click.Command | None:
    from importlib import import_module
    from keyword import iskeyword

    attribute = f"{name}_" if iskeyword(name) else name
    return getattr(import_module(ELSEWHERE[name]), attribute) if name in ELSEWHERE else None


class Commands(click.Group):
    """The commands of this file, and one for each operation. The table of operations is read once all of them are asked
    for, or one that is not of this file: `gligabao stdio` starts without it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from gligabao_mcp.operations import OPERATIONS

        return sorted({*self.commands, *ELSEWHERE, *map(_command_name, OPERATIONS)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, cmd_name) or _command_elsewhere(cmd_name) or _operation_command(cmd_name)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=PROGRAM)
def cli() -> None:
    """The memory that an AI agent can show the work of."""


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

    handler = logging.StreamHandler(sys.stderr)
    # Below a warning libraries write down whole requests and answers, and addresses with keys in them.
    handler.addFilter(lambda record: record.levelno >= logging.WARNING or record.name.split(".")[0] in OUR_LOGGERS)
    logging.basicConfig(
        handlers=[handler], level=level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s"
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


@with_settings(*SERVED)
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


@with_settings(*SERVED, "user_id")
@cli.command(cls=SettingsCommand)
@click.option("--by", metavar="KEYS", default="day", show_default=True, help="Some of day,stage,model,user,type.")
@click.option("--from", "since", metavar="TIME", help="Only calls at this time or later (RFC 3339 or a date).")
@click.option("--to", "until", metavar="TIME", help="Only calls before this time (RFC 3339 or a date).")
@click.option("--user-id", help="Only calls for this user.")
@click.option("--dataset", help="Only calls for datasets of this name.")
@_as_json
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
    with _failures(as_json):
        asked = {"by": by, "from": since, "to": until, "user_id": user_id, "dataset": dataset}
        body = _run(_costs, asked, _settings(flags).config)
        if as_json:
            _echo_json(body)
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
    with _failures(), contextlib.suppress(KeyboardInterrupt):
        _run(_events, limit, follow, _settings(flags).config)


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


# One command per operation --------------------------------------------------------------------------------------------

# A call that goes on by itself (wait false) has this long before the command ends; the next process goes on with it.
DRAIN_SECONDS = 30.0
# The name of the open database: known once it is open. On the command line --db is the setting that says which one.
KNOWN_WHEN_OPEN = "db"
# What only another door can tell.
TOLD_BY_DOORS = "session_source"


class OperationCommand(SettingsCommand):
    """A command whose flags are read from the request model when they are needed."""

    def __init__(self, operation: Operation[Any, Any]) -> None:
        super().__init__(_command_name(operation), help=operation.summary)
        self._operation = operation

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if not self.params:
            with_settings(*SERVED, *_fields(self._operation))(self)
            self.params = [*_operation_params(self._operation), *self.params]
        return super().get_params(ctx)

    def invoke(self, ctx: click.Context) -> None:
        _call(self._operation, ctx.params)


def _command_name(operation: Operation[Any, Any]) -> str:
    return operation.command or operation.name.replace("_", "-")


def _operation_command(name: str) -> click.Command | None:
    from gligabao_mcp.operations import OPERATIONS

    return next((OperationCommand(row) for row in OPERATIONS if _command_name(row) == name), None)


def _fields(operation: Operation[Any, Any]) -> dict[str, FieldInfo]:
    """The fields of the request that the command line takes."""
    return {
        name: field
        for name, field in operation.request.model_fields.items()
        if name not in (KNOWN_WHEN_OPEN, TOLD_BY_DOORS)
    }


def _operation_params(operation: Operation[Any, Any]) -> list[click.Parameter]:
    main, fields = operation.main_field, _fields(operation)
    params: list[click.Parameter] = [
        _option(n, f, is_file=n in operation.files) for n, f in fields.items() if n != main and f.annotation is not Any
    ]
    if operation.main_is_text:
        params.insert(0, click.Argument([main], nargs=-1, metavar=f"[{main.upper()}]..."))
        file = click.Path(dir_okay=False)
        params.append(click.Option(["--file", "file"], type=file, help=f"Read the {main} from this file."))
    elif main:
        params.insert(0, click.Argument([main], required=fields[main].is_required(), metavar=main.upper()))
    return [*params, click.Option(["--json", "as_json"], is_flag=True, help="Print the response as JSON.")]


def _option(name: str, field: FieldInfo, *, is_file: bool = False) -> click.Option:
    hidden = (field.description or "").startswith("Not available")
    if bool in (field.annotation, *get_args(field.annotation)):
        return click.Option(
            [f"{flag(name)}/--no-{flag(name)[2:]}"], default=None, help=field.description, hidden=hidden
        )
    metavar = "FILE" if is_file else "JSON" if _is_structured(field) else "TEXT"
    return click.Option([flag(name)], metavar=metavar, help=field.description, hidden=hidden)


def _is_structured(field: FieldInfo) -> bool:
    """Whether it holds a list or an object, which a flag says as JSON."""
    models = (part for part in get_args(field.annotation) if hasattr(part, "model_fields"))
    return any(word in str(field.annotation) for word in ("list[", "dict[")) or any(models)


def _call(operation: Operation[Any, Any], given: dict[str, Any]) -> None:
    as_json, file = given.pop("as_json"), given.pop("file", None)
    with _failures(as_json):
        fields = _fields(operation)
        settings = _settings({name: value for name, value in given.items() if name not in fields})
        payload = {name: _read_flag(fields[name], value) for name, value in given.items() if name in fields}
        payload |= {name: _base64_of(payload[name]) for name in operation.files if payload[name] is not None}
        if operation.main_is_text:
            payload[operation.main_field] = _text(operation, payload, file)
        if "user_id" in fields and not operation.admin:
            payload["user_id"] = payload.get("user_id") or settings.config.user_id
        body = _run(_execute, operation, payload, settings.config)
        if as_json:
            _echo_json(body)
        else:
            from gligabao_mcp.report import show

            click.echo(show(operation.name, body))


async def _execute(operation: Operation[Any, Any], payload: dict[str, Any], config: Config) -> dict[str, Any]:
    from dataclasses import replace

    from gligabao_mcp.operations import execute, parse

    named = KNOWN_WHEN_OPEN in operation.request.model_fields
    parsed = parse(operation, payload | {KNOWN_WHEN_OPEN: ""} if named else payload)
    from gligabao_mcp.wiring import open_core

    async with open_core(config, drain=DRAIN_SECONDS) as core:
        if named:
            request = parsed.request.model_copy(update={KNOWN_WHEN_OPEN: core.database})
            parsed = replace(parsed, request=request)
        with _progress_bar(operation.title):
            return await execute(operation, core, parsed)


@contextlib.contextmanager
def _progress_bar(label: str) -> Generator[None]:
    """A bar on stderr for a call of several parts, where a person watches."""
    from core.progress import Progress, watched_by

    with contextlib.ExitStack() as ended:
        bar: Any = None

        def show(progress: Progress) -> None:
            nonlocal bar
            if bar is None and progress.of > 1:
                bar = ended.enter_context(
                    click.progressbar(length=progress.of, label=label, file=sys.stderr, show_pos=True)
                )
            if bar is not None:
                bar.update(progress.done - bar.pos)

        if sys.stderr.isatty():
            ended.enter_context(watched_by(show))
        yield


def _text(operation: Operation[Any, Any], payload: Mapping[str, Any], file: str | None) -> str | None:
    """The text of the operation; None where what may be given instead is given."""
    words = payload[operation.main_field]
    if any(payload.get(name) is not None for name in operation.instead) and not words and file is None:
        return None
    return _main_text(words, file, operation.main_field)


def _main_text(words: Sequence[str], file: str | None, name: str) -> str:
    """The text: the words of the command line, a file, or stdin. Always read as UTF-8."""
    if file is not None:
        if words:
            raise click.UsageError(f"give the {name} or --file, not both")
        return _utf8(_bytes_of(file))
    if words and tuple(words) != ("-",):
        return " ".join(map(_word, words))
    if sys.stdin.isatty():
        click.echo(f"Type the {name} and end it with Ctrl-D.", err=True)
    return _utf8(sys.stdin.buffer.read())


def _base64_of(file: str) -> str:
    import base64

    return base64.b64encode(_bytes_of(file)).decode()


def _bytes_of(file: str) -> bytes:
    try:
        with open(file, "rb") as source:
            return source.read()
    except OSError as error:
        raise click.UsageError(f"can't read {file}: {error.strerror}") from None


def _word(word: str) -> str:
    try:
        return _utf8(os.fsencode(word))  # undoes what a locale that is not UTF-8 made of it
    except UnicodeEncodeError:
        return word


def _utf8(text: bytes) -> str:
    # Bytes that are no UTF-8 become lone surrogates, which the common clean-up replaces and reports.
    return text.decode("utf-8", "surrogateescape")


def _read_flag(field: FieldInfo, value: Any) -> Any:
    """What a flag says: a list or an object is read as JSON; what is no JSON stays what it is."""
    import json

    if not isinstance(value, str):
        return value
    value = _word(value)
    if _is_structured(field):
        with contextlib.suppress(ValueError):
            return json.loads(value)
    return value
