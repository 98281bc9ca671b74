"""Commands of operations: one for each, its flags read from the request model."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args, get_origin

import click

from core.config import Config
from gligabao_mcp.commands import (
    SERVED,
    SettingsCommand,
    echo_json,
    failures_told,
    run_async,
    settings_in_force,
    with_settings,
)
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import OPERATIONS
from gligabao_mcp.settings import flag

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

# A call that goes on by itself (wait false) has this long before the command ends; the next process goes on with it.
DRAIN_SECONDS = 30.0
# The name of the open database: known once it is open. On the command line --db is the setting that says which one.
KNOWN_WHEN_OPEN = "db"
# How the fields are described that change nothing.
NEEDLESS = ("Not available", "Taken from clients")
# What only another door can tell.
TOLD_BY_DOORS = "session_source"
# What clients say of a read that may come too early: on the command line what is written is there.
OF_THE_WIRE = ("consistency", "min_indexed_seq")


Answering = Callable[[Operation[Any, Any], dict[str, Any], Config], Awaitable[dict[str, Any]]]
"""Makes the response body from the fields of a request."""


class OperationCommand(SettingsCommand):
    """A command whose flags are read from the request model when they are needed."""

    def __init__(self, operation: Operation[Any, Any]) -> None:
        super().__init__(command_name(operation), help=operation.summary)
        self.operation = operation

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if not self.params:
            with_settings(*SERVED, *_fields(self.operation))(self)
            self.params = [*_operation_params(self.operation), *self.params]
        return super().get_params(ctx)

    def invoke(self, ctx: click.Context) -> None:
        call(self.operation, ctx.params, answered)


def command_name(operation: Operation[Any, Any]) -> str:
    """What the command line calls an operation."""
    return operation.command or operation.name.replace("_", "-")


def commands() -> dict[str, Operation[Any, Any]]:
    """The operations that are commands, by what they are called. Those of a graph are so many that only what a person
    types has one: the others are called over REST."""
    from gligabao_mcp.graph_operations import GRAPH_OPERATIONS

    return {command_name(row): row for row in (*OPERATIONS, *GRAPH_OPERATIONS) if row.command or not row.of_graph}


def operation_command(name: str) -> click.Command | None:
    """The command of that name; None where no operation is called so."""
    of_memory = {command_name(row): row for row in OPERATIONS}
    row = of_memory.get(name) or commands().get(name)
    return OperationCommand(row) if row else None


def _fields(operation: Operation[Any, Any]) -> dict[str, FieldInfo]:
    """The fields of the request that the command line takes."""
    return {
        name: field
        for name, field in operation.request.model_fields.items()
        if name not in (KNOWN_WHEN_OPEN, TOLD_BY_DOORS, *OF_THE_WIRE)
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
    hidden = (field.description or "").startswith(NEEDLESS)
    if bool in (field.annotation, *get_args(field.annotation)):
        return click.Option(
            [f"{flag(name)}/--no-{flag(name)[2:]}"], default=None, help=field.description, hidden=hidden
        )
    metavar = "FILE" if is_file else "JSON" if _is_structured(field) else "TEXT"
    return click.Option([flag(name)], metavar=metavar, help=field.description, hidden=hidden)


def _is_structured(field: FieldInfo) -> bool:
    """Whether it holds a list or an object, which a flag says as JSON."""
    models = (part for part in (field.annotation, *get_args(field.annotation)) if hasattr(part, "model_fields"))
    return any(word in str(field.annotation) for word in ("list[", "tuple[", "dict[")) or any(models)


def call(operation: Operation[Any, Any], given: dict[str, Any], answering: Answering) -> None:
    """Reads the flags of a command, has it answered, and prints that."""
    as_json, file = given.pop("as_json"), given.pop("file", None)
    with failures_told(as_json):
        fields = _fields(operation)
        settings = settings_in_force({name: value for name, value in given.items() if name not in fields})
        payload = {name: _read_flag(fields[name], value) for name, value in given.items() if name in fields}
        payload |= {name: _base64_of(payload[name]) for name in operation.files if payload[name] is not None}
        if operation.main_is_text:
            payload[operation.main_field] = _text(operation, payload, file)
        if "user_id" in fields and not operation.admin:
            payload["user_id"] = payload.get("user_id") or settings.config.user_id
        body = run_async(answering, operation, payload, settings.config)
        if as_json:
            echo_json(body)
        else:
            from gligabao_mcp.report import show

            click.echo(show(operation.name, body))


async def answered(operation: Operation[Any, Any], payload: dict[str, Any], config: Config) -> dict[str, Any]:
    """The response body, on a memory that is opened for this call."""
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
    """What a flag says: a list or an object is read as JSON. What is no JSON is the one item of a list of texts, and
    else stays what it is."""
    import json

    if not isinstance(value, str):
        return value
    value = _word(value)
    if _is_structured(field):
        with contextlib.suppress(ValueError):
            return json.loads(value)
        if get_origin(field.annotation) in (list, tuple):
            return [value]
    return value
