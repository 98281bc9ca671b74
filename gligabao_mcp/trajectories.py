"""Trajectories as files, and the command that checks one."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import click

from core.trajectory import Trajectory
from gligabao_mcp import __version__

log = logging.getLogger(__name__)

INSTALL = "checking trajectories needs a package: install gligabao-mcp[trajectories]"


class TrajectoryFolder:
    """A folder that only its owner reads, with a file for each call."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def keep(self, trajectory: Trajectory) -> None:
        """Writes the file, whole or not at all. A folder that can't be written is logged."""
        body = json.dumps(trajectory.body(__version__), ensure_ascii=False, indent=1)
        half = self.folder / f".{trajectory.name}.{os.getpid()}"
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(body + "\n")
            half.replace(self.folder / f"{trajectory.name}.json")
        except OSError as failure:
            log.warning("the trajectory %s could not be written: %s", trajectory.name, failure.strerror)


@click.group()
def trajectory() -> None:
    """Work with the files that the setting `trajectory` writes."""


@trajectory.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def check(file: Path) -> None:
    """Check that a file is a trajectory in ATIF 1.8."""
    try:
        from atif import Trajectory as Atif
    except ImportError:
        raise click.ClickException(INSTALL) from None
    from pydantic import ValidationError

    try:
        read = Atif.model_validate_json(file.read_bytes())
    except ValidationError as error:
        places = (f"{'.'.join(map(str, wrong['loc'])) or 'file'}: {wrong['msg']}" for wrong in error.errors())
        raise click.ClickException(f"{file.name} is no trajectory: {'; '.join(list(places)[:3])}") from None
    click.echo(f"{file.name} is a trajectory of {len(read.steps)} steps ({read.schema_version}).")
