"""What a model says, as the APIs write it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from tests import wire as api
from tests.ask.asking import Call
from tests.wire import Said

Spoken = str | Sequence[Call] | Said
"""Words, tool calls (arguments of str go out as they are, where the API has them as a text), or a whole reply."""


class Speak(Protocol):
    """What is said as a reply of an API, with other fields than usual."""

    def __call__(self, said: Spoken, **fields: Any) -> Said: ...


def claude_says(said: Spoken, **fields: Any) -> Said:
    """A reply of the Messages API; the fields are the message's."""
    if isinstance(said, Said):
        return said
    content: list[dict[str, Any]] = [{"type": "text", "text": said}] if isinstance(said, str) else []
    for number, (name, given) in enumerate([] if isinstance(said, str) else said):
        content.append({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given})
    message = api.message(model="claude-sonnet-5-5", stop_reason="tool_use")
    return Said({**cast("Mapping[str, Any]", message.body), "content": content, **fields})


def local_says(said: Spoken, **fields: Any) -> Said:
    """A reply of chat completions; the fields are the choice's."""
    if isinstance(said, Said):
        return said
    calls = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for number, (name, given) in enumerate([] if isinstance(said, str) else said)
    ]
    message = {"role": "assistant", "content": said if isinstance(said, str) else None, "tool_calls": calls or None}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": message, **fields}
    return Said({**cast("Mapping[str, Any]", api.chat().body), "choices": [choice]})
