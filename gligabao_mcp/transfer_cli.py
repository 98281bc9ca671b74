"""The commands that take a graph out and in: export, import."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from pathlib import Path
from typing import IO, Any, get_args

import click

from core.config import Config
from core.errors import InvalidRequest
from core.export.formats import FORMATS, FormatName
from gligabao_mcp.commands import (
    SERVED,
    SettingsCommand,
    as_json_flag,
    echo_json,
    failures_told,
    run_async,
    settings_in_force,
    with_settings,
)


@with_settings(*SERVED)
@click.command(cls=SettingsCommand)
@click.option("--dataset", help="The dataset to export. Default: main.")
@click.option("--format", "format", type=click.Choice(get_args(FormatName)), default="json", show_default=True)
@click.option("--include", help="What goes along: text (of the artifacts), points (of time series).")
@click.option(
    "--output", type=click.Path(), help="The file, or for csv and markdown the folder or .zip. Default: stdout."
)
def export(dataset: str | None, format: str, include: str | None, output: str | None, **flags: Any) -> None:
    """Write a whole dataset as one document: JSON that import reads, RDF, GraphML, Cypher, CSV or Markdown notes."""
    with failures_told():
        config = settings_in_force(flags).config
        asked = {"user_id": config.user_id, "dataset": dataset, "format": format, "include": include}
        run_async(_export, asked, Path(output) if output else None, config)


async def _export(given: Mapping[str, object], output: Path | None, config: Config) -> None:
    from core.export.export import ExportRequest, export, export_to_folder
    from gligabao_mcp.transfer import read_request
    from gligabao_mcp.wiring import open_core

    asked = read_request(ExportRequest, given)
    as_folder = FORMATS[asked.format].files is not None and (output is None or output.suffix.lower() != ".zip")
    if as_folder and output is None:
        raise InvalidRequest(f"output: {asked.format} is a folder of files; name one, or a .zip", param="output")
    async with open_core(config) as core:
        if as_folder and output is not None:
            with _Unfinished(output, _new_folder) as folder:
                await export_to_folder(core, asked, folder)
            return
        async with aclosing(await export(core, asked)) as stream:
            if output is None:
                target = sys.stdout.buffer
                async for piece in stream:
                    target.write(piece)
                target.flush()
                return
            with _Unfinished(output, _new_file) as path, path.open("wb") as file:
                async for piece in stream:
                    file.write(piece)


class _Unfinished:
    """A file or folder beside its later place, moved there once it is whole: a part never stands under the name."""

    def __init__(self, target: Path, make: Callable[[Path], Path]) -> None:
        self._target = target
        try:
            self._path = make(target)
        except OSError as error:
            raise InvalidRequest(f"output: {target} can't be written ({error.strerror})", param="output") from None

    def __enter__(self) -> Path:
        return self._path

    def __exit__(self, kind: type[BaseException] | None, _error: object, _trace: object) -> None:
        if kind is None:
            if self._path.is_dir():
                with suppress(FileNotFoundError):
                    self._target.rmdir()
            os.replace(self._path, self._target)
        elif self._path.is_dir():
            shutil.rmtree(self._path, ignore_errors=True)
        else:
            self._path.unlink(missing_ok=True)


def _new_file(target: Path) -> Path:
    handle, path = tempfile.mkstemp(dir=target.absolute().parent, prefix=f".{target.name}.")
    os.close(handle)
    return Path(path)


def _new_folder(target: Path) -> Path:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidRequest(f"output: {target} is there already; name a new or an empty folder", param="output")
    return Path(tempfile.mkdtemp(dir=target.absolute().parent, prefix=f".{target.name}."))


@with_settings(*SERVED)
@click.command("import", cls=SettingsCommand)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--dataset", help="The dataset to import into. Default: the one that the document names.")
@as_json_flag
def import_(file: str, dataset: str | None, as_json: bool, **flags: Any) -> None:
    """Take in a document that export wrote as json or jsonl, whole or not at all; - reads it from stdin."""
    with failures_told(as_json):
        config = settings_in_force(flags).config
        with _opened(file) as source:
            body = run_async(_import, {"user_id": config.user_id, "dataset": dataset}, source, config)
        if as_json:
            echo_json(body)
        else:
            click.echo(show_import(body))


async def _import(given: Mapping[str, object], source: IO[bytes], config: Config) -> dict[str, Any]:
    from core.imports.imports import ImportRequest, import_document
    from gligabao_mcp.transfer import read_request
    from gligabao_mcp.wiring import open_core

    asked = read_request(ImportRequest, given)
    async with open_core(config) as core:
        return (await import_document(core, asked, source)).body()


def _opened(file: str) -> IO[bytes]:
    if file == "-":
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
        shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.seek(0)
        return copy
    try:
        return open(file, "rb")
    except OSError as error:
        raise InvalidRequest(f"file: can't read {file} ({error.strerror})", param="file") from None


def show_import(body: Mapping[str, Any]) -> str:
    """What an import did, in plain words."""
    lines = [f"Imported into {body['dataset']}: {_counted(body['added'])}."]
    if body["merged"]:
        lines.append(f"There already: {_counted(body['merged'])}.")
    return "\n".join([*lines, *body.get("warnings", ())])


def _counted(counts: Mapping[str, int]) -> str:
    return (
        ", ".join(f"{count} {_ONE[name] if count == 1 else _MANY[name]}" for name, count in counts.items()) or "nothing"
    )


_ONE = {"artifacts": "artifact", "entities": "entity", "edges": "fact", "images": "image"}
_MANY = {"artifacts": "artifacts", "entities": "entities", "edges": "facts", "images": "images"}
