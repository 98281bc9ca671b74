"""A conversation with a language model that can call tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from core.errors import ModelFailed
from core.inferences import Choice, Inference
from core.ports import LanguageModel


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A part of the system prompt. `cached`: it is the same in many talks, so the provider may keep it and all before
    it."""

    text: str
    cached: bool = False


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it; `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model calls. `arguments` are as it wrote them, unchecked; where it wrote no JSON object there are
    none."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to, in words."""

    call_id: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model said and which tools it calls. `content` is the turn as its provider wrote it, thoughts included:
    it goes back unchanged. `truncated`: it ran into its limit; `refused`: it declined, `detail` says how."""

    text: str
    calls: Sequence[ToolCall]
    inference: Inference
    content: object
    stop: Literal["finished", "truncated", "refused"] = "finished"
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Told:
    """What the model is told: what its calls came to, each call of its last turn once, and then words, where there are
    any."""

    text: str = ""
    results: Sequence[ToolResult] = ()


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation so far; the last message is one that the model is told. Tools are its to call or not."""

    system: Sequence[SystemPart]
    messages: Sequence[Told | Turn]
    tools: Sequence[ToolSpec]
    max_tokens: int


class CannotCallTools(ModelFailed):
    """The server, or its model, takes no tools."""


class ToolCallingModel(LanguageModel, Protocol):
    """A language model that can call tools."""

    async def turn(self, talk: Talk, choice: Choice) -> Turn:
        """The model's next turn. Raises ModelFailed or ModelOverloaded when none came, with the inference to record;
        CannotCallTools where the server refuses the tools of a talk that begins."""
        ...
