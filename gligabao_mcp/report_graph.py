"""What the command line prints of a graph: answers with their rows, tables of queries, names, and what changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gligabao_mcp.report import section
from gligabao_mcp.report_browse import line, printable

Body = Mapping[str, Any]
# More rows than a person reads; --json has them all.
MOST_ROWS = 50


def _answered(body: Body) -> str:
    """An answer, the records it cites, and the query with its rows."""
    parts = [printable(_said(body))]
    if cited := body.get("answer", {}).get("citations"):
        parts.append("\n".join(["Cites:", *(f"  {line(iri)}" for iri in cited)]))
    if query := body.get("query"):
        at = f" at commit {query['as_of_commit_seq']}" if "as_of_commit_seq" in query else ""
        parts.append(f"Query{at}:\n{_indented(query['sparql'])}")
    if result := body.get("result"):
        parts.append(_rows(result))
    if history := body.get("history"):
        parts.append(_history(history))
    return "\n\n".join(parts)


def _said(body: Body) -> str:
    if answer := body.get("answer"):
        return answer["text"]
    if why := body.get("error"):
        return f"No answer: {why}"
    return f"Route: {body['route']['kind']} ({body['route']['confidence']:.2f})"


def _history(history: Body) -> str:
    if history["compare"]:
        return _differences(history)
    on = f" for {history['as_of_date']}" if "as_of_date" in history else ""
    label = f" ({line(history['label'])})" if "label" in history else ""
    return f"Read at commit {history['as_of_commit_seq']}{on}{label}."


def _rows(body: Body) -> str:
    """The rows of a query as a table."""
    document: Body = json.loads(body["results"])
    if "boolean" in document:
        return "yes" if document["boolean"] else "no"
    names: list[str] = document["head"]["vars"]
    bindings: list[Body] = document["results"]["bindings"]
    return _table(f"Rows ({_counted(len(bindings[:MOST_ROWS]), body['row_page']['total'])})", names, bindings)


def _table(title: str, names: Sequence[str], bindings: Sequence[Body]) -> str:
    rows = [[_cell(row[name]) if name in row else "-" for name in names] for row in bindings[:MOST_ROWS]]
    return section(title, [names, *rows]) if rows and names else title


def _cell(term: Body) -> str:
    return line(term["value"])


def _names(body: Body) -> str:
    rows = [
        (line(one["text"]), line(one.get("label", "-")), one["iri"], one["by"], f"{one['score']:.2f}")
        for one in body["candidates"]
    ]
    heads = ("words", "name", "record", "by", "score")
    return section("Names", [heads, *rows]) if rows else "No name of a record is in it."


def _described(body: Body) -> str:
    unknown = [f"Not in the graph: {', '.join(map(line, body['unknown']))}"] if body.get("unknown") else []
    return "\n\n".join([printable(body["text"]).rstrip(), *unknown])


def _commit_at(body: Body) -> str:
    if "as_of_commit_seq" in body:
        return f"Commit {body['as_of_commit_seq']}, written at {body['committed_at']}."
    return f"No commit: {body['note']}."


def _compared(body: Body) -> str:
    points = [body[side]["as_of_commit_seq"] for side in ("before", "after")]
    more = [f"next page: --cursor {body['next_cursor']}"] if body.get("next_cursor") else []
    notes = [f"Note: {note}" for note in body.get("notes", ())]
    return "\n".join([f"Commit {points[0]} to commit {points[1]}", _differences(body), *notes, *more])


def _differences(body: Body) -> str:
    """What was added, removed and changed, a line for each."""
    totals = body.get("totals", {})
    said = ", ".join(f"{count} {name}" for name, count in totals.items())
    lines = [f"  + {_row(row)}" for row in body.get("added") or ()]
    lines += [f"  - {_row(row)}" for row in body.get("removed") or ()]
    for change in body.get("changed") or ():
        before, after = ("; ".join(map(_row, change[side])) for side in ("before", "after"))
        lines.append(f"  ~ {_row(change['key'])}: {before} -> {after}")
    return "\n".join([f"{said[:1].upper()}{said[1:]}.", *lines])


def _row(row: Body) -> str:
    return ", ".join(f"{name} {_cell(term)}" for name, term in row.items())


def _loaded(body: Body) -> str:
    seq = body.get("committed_commit_seq")
    added = f"Commit {seq}: {body['imported_triplets']} of {body['triples_read']} triples are new."
    problems = [f"Left out: {one['message']}" for one in body.get("errors", ())]
    return "\n".join([added if seq is not None else "Everything is there already.", *problems])


def _counted(shown: int, total: int) -> str:
    return f"{shown} of {total}" if shown < total else str(total)


def _indented(text: str) -> str:
    return "\n".join(f"  {printable(each)}" for each in text.splitlines())


SHOWN: Mapping[str, Callable[[Body], str]] = {
    "ask": _answered,
    "sparql": _rows,
    "names": _names,
    "describe": _described,
    "commit_at": _commit_at,
    "compare": _compared,
    "import_rdf": _loaded,
}
