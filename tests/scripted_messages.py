"""A model that answers questions by tool calls: what it does with each is a script, said over the Messages API.

It keeps nothing between requests: each holds the whole conversation, and the question stands in it word for word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests import wire as api
from tests.wire import Said

Call = tuple[str, Mapping[str, Any]]
"""A tool, and its arguments."""


@dataclass(frozen=True)
class Script:
    """What the model does with a question: the calls of each of its turns, and then the answer."""

    question: str
    turns: Sequence[Sequence[Call]] = ()
    answer: Mapping[str, Any] = field(default_factory=dict[str, Any])
    route: str = "lookup"
    failure: Said | None = None
    """What it says instead of everything else."""


def sparql(query: str, **more: Any) -> Call:
    """A query."""
    return "sparql", {"query": query, **more}


def says(text: str, *citations: str, **more: Any) -> dict[str, Any]:
    """An answer that rests on the first step."""
    return {"text": text, "citations": list(citations), "step": 1, "rationale": "The rows hold it.", **more}


class Scripted:
    """The model: a reply of the Messages API to whatever request comes."""

    def __init__(self, *scripts: Script) -> None:
        self._scripts = scripts
        self.asked: list[dict[str, Any]] = []
        """The requests, those for the route left out."""

    def __call__(self, body: dict[str, Any]) -> Said:
        said = "\n".join(_texts(body))
        known = [script for script in self._scripts if script.question in said]
        if not known:
            return api.error(400, "invalid_request_error", "no script for this question")
        script = max(known, key=lambda one: len(one.question))
        if script.failure is not None:
            return script.failure
        if not body.get("tools"):
            return _routed(script.route)
        self.asked.append(body)
        turn = _turns(body)
        calls = script.turns[turn] if turn < len(script.turns) else [("answer", script.answer)]
        return _calling(turn, calls)


def _routed(kind: str) -> Said:
    kinds = ("lookup", "aggregate", "search", "history", "schema", "unanswerable")
    spread = {other: 0.9 if other == kind else 0.02 for other in kinds}
    return api.message(json.dumps({"kind": kind, "route": kind, "confidence": 0.9, "probabilities": spread, **spread}))


def _calling(turn: int, calls: Sequence[Call]) -> Said:
    content = [
        {"type": "tool_use", "id": f"toolu_{turn}_{number}", "name": name, "input": dict(arguments)}
        for number, (name, arguments) in enumerate(calls)
    ]
    said = api.message(model="claude-sonnet-5-5", stop_reason="tool_use")
    assert isinstance(said.body, Mapping)
    return Said({**said.body, "content": content}, headers=said.headers)


def _turns(body: Mapping[str, Any]) -> int:
    """How many turns of the model are behind it."""
    return sum(message["role"] == "assistant" for message in body["messages"])


def _texts(body: Mapping[str, Any]) -> Iterator[str]:
    for message in body["messages"]:
        if message["role"] == "user":
            content: str | list[dict[str, Any]] = message["content"]
            parts = [{"text": content}] if isinstance(content, str) else content
            yield from (part["text"] for part in parts if "text" in part)
