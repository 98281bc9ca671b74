"""A talk with tools as the Messages API writes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from core.ports import Completion
from core.talk import Talk, Told, ToolCall, ToolResult, Turn

if TYPE_CHECKING:
    from anthropic.types import Message, MessageParam, TextBlockParam, ToolParam

_KEPT = {"type": "ephemeral"}


def system_blocks(talk: Talk) -> list[TextBlockParam]:
    """The system prompt by its parts; the API takes four marks in all, one of which stands on the last message."""
    parts = [part for part in talk.system if part.text]
    blocks = [{"type": "text", "text": part.text} | ({"cache_control": _KEPT} if part.cached else {}) for part in parts]
    return cast("list[TextBlockParam]", blocks)


def messages_of(talk: Talk) -> list[MessageParam]:
    """The messages. The end of the last one is marked: the next turn reads all before it from the cache."""
    messages = [_message(message) for message in talk.messages if not _is_silent(message)]
    messages[-1]["content"][-1] |= {"cache_control": _KEPT}
    return cast("list[MessageParam]", messages)


def tools_of(talk: Talk) -> list[ToolParam]:
    """The tools, in their order."""
    return [
        {"name": tool.name, "description": tool.description, "input_schema": dict(tool.schema)} for tool in talk.tools
    ]


def turn_of(message: Message, completion: Completion) -> Turn:
    """The turn that a reply is; a call that was cut off is none."""
    cut = completion.stop == "truncated"
    calls = [
        ToolCall(block.id, block.name, _arguments(block.input))
        for block in message.content
        if block.type == "tool_use" and not cut
    ]
    said = [block for block in message.content if block.type != "text" or block.text.strip()]
    content = [block.model_dump(mode="json", exclude_none=True) for block in said]
    return Turn(completion.text, calls, completion.inference, content, completion.stop, completion.detail)


def _is_silent(message: Told | Turn) -> bool:
    """A turn without a word or a call, thoughts or not: the API refuses to read it again."""
    return isinstance(message, Turn) and not (message.calls or message.text.strip())


def _message(message: Told | Turn) -> dict[str, Any]:
    if isinstance(message, Turn):
        return {"role": "assistant", "content": message.content}
    return {"role": "user", "content": list(_blocks(message))}


def _blocks(told: Told) -> Iterator[dict[str, Any]]:
    """Results come first: the API wants them right after the calls."""
    for result in told.results:
        yield _result(result)
    if told.text:
        yield {"type": "text", "text": told.text}


def _result(result: ToolResult) -> dict[str, Any]:
    failed = {"is_error": True} if result.failed else {}
    return {"type": "tool_result", "tool_use_id": result.call_id, "content": result.text, **failed}


def _arguments(stated: object) -> dict[str, Any]:
    return cast("dict[str, Any]", stated) if isinstance(stated, dict) else {}
