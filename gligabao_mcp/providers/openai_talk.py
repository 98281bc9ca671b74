"""A talk with tools as chat completions write it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from core.ports import Completion
from core.talk import Talk, Told, ToolCall, Turn

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageParam, ChatCompletionToolUnionParam


def messages_of(talk: Talk) -> list[ChatCompletionMessageParam]:
    """The messages, the parts of the system prompt as one."""
    system = "\n\n".join(part.text for part in talk.system if part.text)
    messages = [{"role": "system", "content": system}, *(one for said in talk.messages for one in _messages(said))]
    return cast("list[ChatCompletionMessageParam]", messages)


def tools_of(talk: Talk) -> list[ChatCompletionToolUnionParam]:
    """The tools, in their order."""
    return [
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": dict(tool.schema)},
        }
        for tool in talk.tools
    ]


def turn_of(message: ChatCompletionMessage, completion: Completion) -> Turn:
    """The turn that a reply is; a call that was cut off is none."""
    stated = [] if completion.stop == "truncated" else message.tool_calls or []
    calls = [
        ToolCall(call.id, call.function.name, _arguments(call.function.arguments))
        for call in stated
        if call.type == "function"
    ]
    content: dict[str, Any] = {"role": "assistant", "content": message.content or ""}
    if calls:  # whole: some servers put marks of their own into a call and want them back
        content["tool_calls"] = [call.model_dump(mode="json", exclude_none=True) for call in stated]
    return Turn(completion.text, calls, completion.inference, content, completion.stop, completion.detail)


def _messages(message: Told | Turn) -> Iterator[dict[str, Any]]:
    if isinstance(message, Turn):
        yield cast("dict[str, Any]", message.content)
        return
    for result in message.results:
        yield {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
    if message.text:
        yield {"role": "user", "content": message.text}


def _arguments(text: str) -> dict[str, Any]:
    """The arguments that a model wrote as JSON; none where they can't be read."""
    try:
        stated = json.loads(text)
    except ValueError:
        return {}
    return cast("dict[str, Any]", stated) if isinstance(stated, dict) else {}
