"""A talk with tools as chat completions write it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from core.ports import Completion
from core.talk import Talk, Told, ToolCall, Turn

if TYPE_CHECKING:
    from openai.types.chat import (
        ChatCompletionMessage,
        ChatCompletionMessageFunctionToolCall,
        ChatCompletionMessageParam,
        ChatCompletionToolUnionParam,
    )


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
    written = [_written(number, call) for number, call in enumerate(stated) if call.type != "custom"]
    calls = [
        ToolCall(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in written
    ]
    content: dict[str, Any] = {"role": "assistant", "content": message.content or ""}
    if calls:
        content["tool_calls"] = written
    return Turn(completion.text, calls, completion.inference, content, completion.stop, completion.detail)


def _written(number: int, call: ChatCompletionMessageFunctionToolCall) -> dict[str, Any]:
    """A call as it goes back: whole, because some servers put marks of their own into it and want them back. What is
    missing is filled in, and what is no JSON object becomes an empty one: servers read the arguments again."""
    whole = call.model_dump(mode="json", exclude_none=True, warnings=False)
    function = whole["function"]
    function["arguments"] = _readable(function.get("arguments"))
    return {"id": f"call_{number}", "type": "function", **whole}


def _messages(message: Told | Turn) -> Iterator[dict[str, Any]]:
    if isinstance(message, Turn):
        yield cast("dict[str, Any]", message.content)
        return
    for result in message.results:
        yield {"role": "tool", "tool_call_id": result.call_id, "content": result.text}
    if message.text:
        yield {"role": "user", "content": message.text}


def _readable(stated: object) -> str:
    """The arguments as the model wrote them, where they are a JSON object."""
    if isinstance(stated, dict):  # some servers send the object itself
        return json.dumps(stated)
    try:
        return stated if isinstance(stated, str) and isinstance(json.loads(stated), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"
