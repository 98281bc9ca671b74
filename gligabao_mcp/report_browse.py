"""What the command line prints of what is stored: a line for each row of a list, all of one row in sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gligabao_mcp.report import day, fact, section

Body = Mapping[str, Any]
# So much of a text fits a line.
WIDTH = 90


def _datasets(body: Body) -> str:
    heads = ("dataset", "artifacts", "entities", "facts", "commits", "created", "last write", "vectors by")
    rows = [
        (
            item["name"],
            *(str(item[name]) for name in ("artifacts", "entities", "edges", "commits")),
            day(item["created_at"]),
            day(item.get("last_write_at", "-")),
            item.get("embedding_model", "-"),
        )
        for item in body["items"]
    ]
    return _table("Datasets", heads, rows, body)


def _sessions(body: Body) -> str:
    heads = ("session", "artifacts", "entities", "facts", "first", "last")
    rows = [
        (
            line(item["session_id"]),
            *(str(item[name]) for name in ("artifacts", "entities", "edges")),
            day(item["first_at"]),
            day(item["last_at"]),
        )
        for item in body["items"]
    ]
    return _table("Sessions", heads, rows, body)


def _session(body: Body) -> str:
    when = f"{day(body['first_at'])} to {day(body['last_at'])}"
    head = f"Session {line(body['session_id'])}, {when}: {body['entities']} entities, {body['edges']} facts"
    return f"{head}\n\n{_artifacts(body['artifacts'])}"


def _artifacts(body: Body) -> str:
    rows = [
        (f"[{item['id']}]", day(item["valid_at"]), item["kind"], line(item.get("session_id", "-")), _said(item))
        for item in body["items"]
    ]
    return _table("Artifacts", ("id", "date", "kind", "session", "text"), rows, body)


def _said(item: Body) -> str:
    speaker = f"{item['speaker']}: " if item.get("speaker") else ""
    return line(f"{speaker}{item['excerpt']}")


def _artifact(body: Body) -> str:
    known = ("parent_id", "chunk_index", "session_id", "speaker", "message_id", "remember_run_id", "model_id")
    fields = [(name.replace("_", " "), line(str(body[name]))) for name in known if name in body]
    times = [("date", day(body["valid_at"])), ("stored", day(body["created_at"]))]
    image = [(name.replace("_", " "), line(str(value))) for name, value in body.get("image", {}).items()]
    chunks = [
        (f"[{chunk['id']}]", f"{chunk['start_offset']}-{chunk['end_offset']}", line(chunk.get("summary", "-")))
        for chunk in body.get("chunks", ())
    ]
    parts = [section(f"Artifact {body['id']}, {body['kind']}", [*times, *fields]), printable(body["text"])]
    parts += [section("Image", image)] if image else []
    parts += [section("Chunks", [("id", "place", "summary"), *chunks])] if chunks else []
    return "\n\n".join([*parts, _entities(body["entities"]), _edges(body["edges"])])


def _entities(body: Body) -> str:
    rows = [
        (f"[{item['id']}]", line(item["name"]), item["type"], line(item.get("description", "-")))
        for item in body["items"]
    ]
    return _table("Entities", ("id", "name", "type", "description"), rows, body)


def _entity(body: Body) -> str:
    also = [f"Also called: {line(alias['name'])} ({alias['type']})" for alias in body["aliases"]]
    same = [
        f"Of the same name: [{other['id']}] {line(other['name'])} ({other['type']}). If it is the same thing: "
        f"gligabao merge --into {body['id']} --other {other['id']}"
        for other in body["same_name"]
    ]
    described = [printable(body["description"])] if body.get("description") else []
    head = "\n".join([f"[{body['id']}] {line(body['name'])} ({body['type']})", *described, *also, *same])
    return "\n\n".join([head, _edges(body["edges"]), _supports("Named in", body["artifacts"]), *_seen(body)])


def _edges(body: Body) -> str:
    lines = [f"  {printable(fact(item))}" for item in body["items"]]
    return "\n".join([_title("Facts", body), *lines, *_more(body)])


def _edge(body: Body) -> str:
    sources = [f"start {body['valid_at_source']}"]
    sources += [f"end {body['invalid_at_source']}"] if body.get("invalid_at_source") else []
    closed = [f"Closed by fact {body['closed_by']}."] if body.get("closed_by") else []
    head = "\n".join([printable(fact(body)), f"Its times: {', '.join(sources)}.", *closed])
    history = [
        f"  until {day(version['until'])}: since {day(version['valid_at'])}"
        + (f", until {day(version['invalid_at'])}" if version.get("invalid_at") else "")
        + (", superseded" if version.get("expired_at") else "")
        for version in body["history"]
    ]
    before = ["\n".join(["What was known of it before", *history])] if history else []
    return "\n\n".join([head, _supports("Stated in", body["artifacts"]), *_seen(body), *before])


def _supports(title: str, body: Body) -> str:
    rows = [
        (f"[{item['id']}]", day(item["valid_at"]), item["kind"], line(item.get("session_id", "-")), _said(item))
        for item in body["items"]
    ]
    return _table(title, ("id", "date", "kind", "session", "text"), rows, body)


def _seen(body: Body) -> list[str]:
    sessions = body["sessions"]
    names = ", ".join(map(line, sessions["items"]))
    return [f"{_title('Sessions', sessions)}\n  {names}"] if names else []


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], body: Body) -> str:
    shown = section(_title(title, body), [heads, *rows]) if rows else _title(title, body)
    return "\n".join([shown, *_more(body)])


def _title(title: str, body: Body) -> str:
    shown, total = len(body["items"]), body["total"]
    return f"{title}: none" if not total else f"{title} ({shown} of {total})" if shown < total else f"{title} ({total})"


def _more(body: Body) -> list[str]:
    return [f"  next page: --cursor {body['next_cursor']}"] if body.get("next_cursor") else []


def line(text: str) -> str:
    """A text on one line, cut where the line ends."""
    flat = printable(" ".join(text.split()))
    return flat if len(flat) <= WIDTH else f"{flat[: WIDTH - 1]}…"


def printable(text: str) -> str:
    """A text that steers no terminal, whoever wrote it."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)


SHOWN: Mapping[str, Callable[[Body], str]] = {
    "datasets": _datasets,
    "sessions": _sessions,
    "session": _session,
    "artifacts": _artifacts,
    "artifact": _artifact,
    "entities": _entities,
    "entity": _entity,
    "edges": _edges,
    "edge": _edge,
}
