"""The commands that keep a memory in order: doctor, reindex, reextract, backup, restore."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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

if TYPE_CHECKING:
    from core.config import Config
    from core.doctor import BackupManifest, Finding, Reindexed, Report
    from core.graph import Dataset
    from core.reextract import Replaced

FINDINGS = 1
"""The exit code of a doctor that found something."""


@with_settings(*SERVED)
@click.command(cls=SettingsCommand)
@click.option("--repair", is_flag=True, help="Mend what can be mended. Nothing that was told is deleted.")
@as_json_flag
def doctor(as_json: bool, repair: bool, **flags: Any) -> None:
    """Look for damage, lost links and missing vectors. Exit code 0: healthy; 1: something was found."""
    with failures_told(as_json):
        report = run_async(_examine, settings_in_force(flags).config, repair)
        if as_json:
            echo_json(report.body())
        else:
            click.echo(show_report(report))
        if not report.healthy:
            raise SystemExit(FINDINGS)


async def _examine(config: Config, repair: bool) -> Report:
    from gligabao_mcp.wiring import open_upkeep

    async with open_upkeep(config) as upkeep:
        return await (upkeep.doctor.repair() if repair else upkeep.doctor.examine())


def show_report(report: Report) -> str:
    """The state of the memory in plain words."""
    lines = [f"Repaired: {done}." for done in report.repaired]
    lines += [_finding(finding) for finding in report.findings]
    if report.healthy:
        lines.append("Healthy.")
    counts = (f"{count} {name.replace('_', ' ')}" for name, count in report.counts.items())
    return "\n".join([*lines, ", ".join(counts)])


def _finding(finding: Finding) -> str:
    where = f" in {finding.dataset}" if finding.dataset else ""
    ids = f" (ids {', '.join(map(str, finding.ids))}{', …' if finding.count > len(finding.ids) else ''})"
    return (
        f"{finding.kind}: {finding.count} {finding.text}{where}{ids if finding.ids else ''}. Remedy: {finding.remedy}."
    )


@with_settings(*SERVED)
@click.command(cls=SettingsCommand)
@click.option("--dataset", "datasets", multiple=True, help="A dataset of --user-id; may be given several times.")
@click.option("--all", "everything", is_flag=True, help="Every dataset of every user.")
@as_json_flag
def reindex(as_json: bool, datasets: tuple[str, ...], everything: bool, **flags: Any) -> None:
    """Embed what is stored again with the configured embedder, and switch over when all of it is done.

    The old vectors are searched meanwhile. Stopped half way, the next call goes on where it was.
    """
    if bool(datasets) == everything:
        raise click.UsageError("name a --dataset, or --all of them")
    with failures_told(as_json):
        done = run_async(_reindex, settings_in_force(flags).config, list(datasets))
        if as_json:
            from dataclasses import asdict

            echo_json({"datasets": [asdict(one) for one in done]})
        else:
            for one in done:
                click.echo(_reindexed(one))


async def _reindex(config: Config, datasets: list[str]) -> list[Reindexed]:
    from gligabao_mcp.wiring import open_upkeep

    async with open_upkeep(config) as upkeep:
        return await upkeep.reindex(config.user_id, datasets, _tell)


def _tell(dataset: Dataset, done: int) -> None:
    """Who waits at a terminal sees that something happens."""
    if sys.stderr.isatty():
        click.echo(f"\r{dataset.user_id} / {dataset.name}: {done} texts embedded", err=True, nl=False)


def _reindexed(one: Reindexed) -> str:
    kept = f", {one.kept} were there already" if one.kept else ""
    waiting = f"; {one.waiting} wait to be written" if one.waiting else ""
    by = f"{one.model}, {one.dimensions} dimensions"
    return f"{one.user_id} / {one.dataset}: {one.embedded} texts embedded{kept} ({by}){waiting}."


@with_settings(*SERVED)
@click.command(cls=SettingsCommand)
@click.option("--dataset", default="main", show_default=True, help="A dataset of --user-id.")
@click.option("--model-id", default="rules-en-1", show_default=True, help="Whose facts are to be replaced.")
@click.option("--dry-run", is_flag=True, help="Ask the model and tell what would change, and change nothing.")
@as_json_flag
def reextract(as_json: bool, dataset: str, model_id: str, dry_run: bool, **flags: Any) -> None:
    """Read the texts again whose facts a weaker engine wrote, with the configured one.

    The new facts take the place of the old ones text by text. Facts that other texts state stay.
    """
    with failures_told(as_json):
        done = run_async(_reextract, settings_in_force(flags).config, dataset, model_id, dry_run)
        if as_json:
            from dataclasses import asdict

            echo_json({"dry_run": dry_run, "parts": [asdict(one) for one in done]})
        else:
            click.echo("\n".join([*map(_replaced, done), f"{len(done)} texts were read again."]))
        if any(one.failed for one in done):
            raise SystemExit(FINDINGS)


async def _reextract(config: Config, name: str, model_id: str, dry_run: bool) -> list[Replaced]:
    from core.errors import UnknownDataset
    from core.reextract import reextract
    from gligabao_mcp.wiring import open_rereading

    async with open_rereading(config) as (core, store):
        dataset = await core.graph.dataset(config.user_id, name)
        if dataset is None:
            raise UnknownDataset(f"no dataset {name!r} for user {config.user_id!r}")
        return [one async for one in reextract(core, store, dataset, model_id, dry_run=dry_run)]


def _replaced(one: Replaced) -> str:
    which = f"Artifact {', '.join(map(str, one.artifact_ids))}"
    if one.failed:
        return f"{which}: unchanged, {one.failed}."
    counts = {
        "facts added": one.added,
        "removed": one.removed,
        "stated again": one.reworded,
        "kept for others": one.kept,
        "open again": one.reopened,
    }
    return f"{which}: {', '.join(f'{n} {what}' for what, n in counts.items() if n) or 'nothing to change'}."


@with_settings(*SERVED)
@click.command(cls=SettingsCommand)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@as_json_flag
def backup(as_json: bool, file: Path, **flags: Any) -> None:
    """Write the database and its vectors to FILE, also while servers use them."""
    with failures_told(as_json):
        manifest = run_async(_backup, settings_in_force(flags).config, file)
        if as_json:
            from dataclasses import asdict

            echo_json({"file": str(file), **asdict(manifest)})
        else:
            click.echo(f"Wrote {file}: {_held(manifest)}.")


async def _backup(config: Config, file: Path) -> BackupManifest:
    from gligabao_mcp.wiring import open_upkeep

    async with open_upkeep(config) as upkeep:
        return await upkeep.back_up(file)


@with_settings(*SERVED)
@click.command(cls=SettingsCommand)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--force", is_flag=True, help="Also where the database holds something; the old file is kept beside.")
@as_json_flag
def restore(as_json: bool, file: Path, force: bool, **flags: Any) -> None:
    """Put the backup FILE in the place of the database. Every gligabao that has it open must be ended first."""
    with failures_told(as_json):
        manifest, kept = run_async(_restore, settings_in_force(flags).config, file, force)
        if as_json:
            from dataclasses import asdict

            echo_json({**asdict(manifest), "kept": str(kept) if kept else None})
        else:
            click.echo(f"Restored {file}: {_held(manifest)}." + (f" The old database is {kept}." if kept else ""))


async def _restore(config: Config, file: Path, force: bool) -> tuple[BackupManifest, Path | None]:
    from gligabao_mcp.wiring import restore_backup

    return await restore_backup(config, file, force=force)


def _held(manifest: BackupManifest) -> str:
    counts = manifest.counts
    facts, artifacts = counts.get("gb_edges", 0), counts.get("gb_artifacts", 0)
    return f"{artifacts} artifacts, {facts} facts, {sum(manifest.vectors.values())} vectors, of {manifest.created_at}"
