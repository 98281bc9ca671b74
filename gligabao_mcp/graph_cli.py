"""The commands that are more than their operation: ask, which shows each step, and load, which reads a file."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import click

from core.config import Config
from core.uploads import Upload
from gligabao_mcp.errors import failure
from gligabao_mcp.graph_operations import ASK
from gligabao_mcp.operation import Operation
from gligabao_mcp.operation_commands import OperationCommand, answered, call
from gligabao_mcp.plumbing_operations import IMPORT_RDF

_FORMATS = {".ttl": "turtle", ".nt": "ntriples", ".nq": "nquads", ".trig": "trig"}
_CHART = click.Option(
    ["--chart"], metavar="FILE", help="Draw the rows of the answer: a file (.svg or .png), or terminal."
)


class AskCommand(OperationCommand):
    """The command of ask. Its steps, and the picture of its rows where one is asked for, go to stderr."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [_CHART, *super().get_params(ctx)]

    def invoke(self, ctx: click.Context) -> None:
        call(self.operation, ctx.params, partial(_asked, ctx.params.pop("chart")))


async def _asked(
    chart: str | None, operation: Operation[Any, Any], payload: dict[str, Any], config: Config
) -> dict[str, Any]:
    from gligabao_mcp.charts import check, shown
    from gligabao_mcp.event_words import in_words
    from gligabao_mcp.operations import execute_in_steps, parse
    from gligabao_mcp.wiring import open_core

    if chart is not None:
        check(chart)
    parsed = parse(operation, payload)
    async with open_core(config) as core:
        body = await execute_in_steps(operation, core, parsed, lambda event: _say(in_words(event)))
    if chart is not None:
        try:
            _say(shown(body, payload[operation.main_field], chart))
        except Exception as error:  # the answer is there, and was paid for
            _say(failure(error).message)
    return body


def _say(words: str) -> None:
    if words:
        click.echo(words, err=True)


class LoadCommand(OperationCommand):
    """The command of import_rdf. The format is read from the name of the file where no flag says it."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        params[0].metavar, params[0].type = "FILE", click.Path(exists=True, dir_okay=False)
        for param in params:
            if isinstance(param, click.Option) and param.name == "format":
                param.help = f"How it is written: {', '.join(_FORMATS.values())}. Default: by the ending of its name."
        return params

    def invoke(self, ctx: click.Context) -> None:
        call(self.operation, ctx.params, _loaded)


async def _loaded(operation: Operation[Any, Any], payload: dict[str, Any], config: Config) -> dict[str, Any]:
    path = Path(payload.pop(operation.body_field))
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        guessed = {"format": _FORMATS[path.suffix.lower()]} if path.suffix.lower() in _FORMATS else {}
        stated = {name: value for name, value in payload.items() if value is not None}
        upload = {operation.body_field: Upload(file, digest)}
        return await answered(operation, {**guessed, **stated, **upload}, config)


ask = AskCommand(ASK)
load = LoadCommand(IMPORT_RDF)
