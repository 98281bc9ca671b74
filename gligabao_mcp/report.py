"""What the command line prints for people: facts with their dates and sources, settings, and what is off and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gligabao_mcp.settings import Settings

if TYPE_CHECKING:
    from core.status import Status


def show(operation: str, body: Mapping[str, Any]) -> str:
    """A response in plain words."""
    from gligabao_mcp import report_browse, report_graph  # which are built on what is below

    shown = {**_SHOWN, **report_browse.SHOWN, **report_graph.SHOWN}.get(operation)
    return shown(body) if shown else _plain(body)


def _plain(body: Mapping[str, Any]) -> str:
    """A field a line: for what has no words of its own."""
    import json

    said = {name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()}
    return "\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in said.items())


def _read_from_image(body: Mapping[str, Any]) -> str:
    what = "Known already: image" if body["deduplicated"] else "Image"
    title = f": {body['title']}" if body["title"] else ""
    head = f"{what}, artifact {body['artifact_id']}, {body['theme']}{title}"
    lines = [head, *(f"  {block['text']}" for block in body["blocks"])]
    return "\n".join([*lines, *(f"Note: {warning}." for warning in body.get("warnings", ()))])


def _remembered(body: Mapping[str, Any]) -> str:
    if body.get("kind") == "image":
        return _read_from_image(body)
    if body.get("state") == "queued":
        return f"Kept as run {body['remember_run_id']}, which goes on by itself: gligabao run {body['remember_run_id']}"
    edges, closed = body["edges"], body["invalidated_edges"]
    what = f"as artifact {body['artifact_id']}" if "artifact_id" in body else _count(body["messages"], "message")
    lines = [f"Remembered {what}: {_count(edges, 'fact')}."]
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


def _run(body: Mapping[str, Any]) -> str:
    used = [
        (name, stage["status"], f"{stage['duration_ms']} ms" if "duration_ms" in stage else "", stage.get("error", ""))
        for name, stage in body["stages"].items()
        if stage["status"] != "not_started"
    ]
    lines = [_run_line(body)] + ([section("Stages", used)] if used else [])
    return "\n".join([*lines, *([_remembered(body["response"])] if "edges" in body.get("response", ()) else [])])


def _runs(body: Mapping[str, Any]) -> str:
    shown = len(body["runs"])
    more = [f"({body['total'] - shown} more)"] if body["total"] > shown else []
    return "\n".join([*map(_run_line, body["runs"]), *more]) or "No call of remember fits."


def _run_line(run: Mapping[str, Any]) -> str:
    why = f": {run['error']}" if run.get("error") else ""
    source = f", artifact {run['artifact_id']}" if run.get("artifact_id") else ""
    return f"[{run['remember_run_id']}] {run['created_at']} {run['dataset']}: {run['state']}{source}{why}"


_SHOWN: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "remember": _remembered,
    "query": _answered,
    "remember_status": _run,
    "remember_runs": _runs,
}


def fact(edge: Mapping[str, Any]) -> str:
    """A fact in one line: what, when, whether it still holds, and the artifact it came from."""
    what = edge.get("description") or f"{edge['source']} {edge['relation'].replace('_', ' ')} {edge['target']}"
    until = f", until {day(edge['invalid_at'])}" if edge.get("invalid_at") else ""
    closed = ", superseded" if edge.get("expired_at") else ""
    source = f"; artifact {edge['artifact_id']}" if edge.get("artifact_id") else ""
    return f"[{edge['id']}] {what} (since {day(edge['valid_at'])}{until}{closed}{source})"


def day(moment: str) -> str:
    """The date of a moment: a person reads no more; --json has it to the microsecond."""
    return moment.partition("T")[0]


def _count(rows: Sequence[object], noun: str) -> str:
    return f"{len(rows)} {noun}{'' if len(rows) == 1 else 's'}"


def show_settings(settings: Settings) -> str:
    """Every setting, its value and where it was read."""
    rows = [(name, value or "-", source) for name, value, source in settings.shown()]
    return section(f"Settings (file: {settings.file})", rows)


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
            section("Parts", parts),
            section("Datasets", [heads, *datasets] if datasets else [("none yet",)]),
            section("Work", [*runs, *waiting]),
        ]
    )


def show_costs(body: Mapping[str, Any]) -> str:
    """Sums of model calls as a table, their total last."""
    sums = ("calls", "input_tokens", "cached_input_tokens", "cache_write_tokens", "output_tokens", "thinking_tokens")
    keys: list[str] = body["by"]
    heads = [*keys, *(name.removesuffix("_tokens").replace("_", " ") for name in sums), "USD"]
    total = {**body["total"], **dict.fromkeys(keys, "")} | ({keys[0]: "total"} if keys else {})
    rows = [[str(row[name]) for name in (*keys, *sums)] + [f"{row['cost_usd']:.6f}"] for row in (*body["rows"], total)]
    return section("Model calls (tokens: input counts the cached ones, output the thinking)", [heads, *rows])


def section(title: str, rows: Sequence[Sequence[str]]) -> str:
    """A table under its title, the columns aligned."""
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
