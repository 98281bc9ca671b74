"""What the command line prints for people: facts with their dates and sources, settings, and what is off and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gligabao_mcp.settings import Settings

if TYPE_CHECKING:
    from core.status import Status


def show(operation: str, body: Mapping[str, Any]) -> str:
    """A response in plain words."""
    return _remembered(body) if operation == "remember" else _answered(body)


def _remembered(body: Mapping[str, Any]) -> str:
    edges, closed = body["edges"], body["invalidated_edges"]
    lines = [f"Remembered as artifact {body['artifact_id']}: {_count(edges, 'fact')}."]
    lines += [f"  {fact(edge)}" for edge in edges]
    if closed:
        lines.append(f"Closed by it: {', '.join(f'fact {edge}' for edge in closed)}.")
    if pending := body.get("vectors_pending"):
        lines.append(f"{pending} vectors are still being written.")
    return "\n".join([*lines, *(f"Note: {warning}." for warning in body.get("warnings", ()))])


def _answered(body: Mapping[str, Any]) -> str:
    edges = body["evidence"]["edges"]
    lines = [body["answer"]] if body.get("answer") else []
    if edges:
        lines += [*([""] if lines else []), "Evidence:", *(f"  {fact(edge)}" for edge in edges)]
    if body.get("grounded") is False:
        lines.append("The answer names no fact that it was given.")
    return "\n".join(lines) or "Nothing in memory fits."


def fact(edge: Mapping[str, Any]) -> str:
    """A fact in one line: what, when, whether it still holds, and the artifact it came from."""
    what = edge.get("description") or f"{edge['source']} {edge['relation'].replace('_', ' ')} {edge['target']}"
    until = f", until {_day(edge['invalid_at'])}" if edge.get("invalid_at") else ""
    closed = ", superseded" if edge.get("expired_at") else ""
    source = f"; artifact {edge['artifact_id']}" if edge.get("artifact_id") else ""
    return f"[{edge['id']}] {what} (since {_day(edge['valid_at'])}{until}{closed}{source})"


def _day(moment: str) -> str:
    """The date of a moment: a person reads no more; --json has it to the microsecond."""
    return moment.partition("T")[0]


def _count(rows: Sequence[object], noun: str) -> str:
    return f"{len(rows)} {noun}{'' if len(rows) == 1 else 's'}"


def show_settings(settings: Settings) -> str:
    """Every setting, its value and where it was read."""
    rows = [(name, value or "-", source) for name, value, source in settings.shown()]
    return _section(f"Settings (file: {settings.file})", rows)


def show_status(status: Status) -> str:
    """What is on, what is off and why, and what every user has."""
    parts = [(part.name, "on" if part.on else "off", part.detail) for part in status.parts]
    heads = ("user", "dataset", "artifacts", "entities", "facts", "commits", "vectors by")
    datasets = [
        (d.user_id, d.name, *map(str, (d.artifacts, d.entities, d.facts, d.commits)), d.embedding or "-")
        for d in status.datasets
    ]
    waiting = [("vectors waiting", str(status.vectors_pending))]
    runs = [(f"runs {state}", str(count)) for state, count in status.runs.items()]
    return "\n\n".join(
        [
            _section("Parts", parts),
            _section("Datasets", [heads, *datasets] if datasets else [("none yet",)]),
            _section("Work", [*runs, *waiting]),
        ]
    )


def _section(title: str, rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([title, *(f"  {line}" for line in lines)])


def settings_body(settings: Settings) -> dict[str, dict[str, str]]:
    """Every setting with its value and source, for programs; secrets are masked."""
    return {name: {"value": value, "source": source} for name, value, source in settings.shown()}


def status_body(status: Status) -> dict[str, Any]:
    """The state of the memory, for programs."""
    from dataclasses import asdict

    return asdict(status)
