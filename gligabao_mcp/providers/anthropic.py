"""Language models of the Anthropic API."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from core.config import DEFAULT_MODEL
from core.inferences import Choice, Inference, Reasoning, Usage
from core.ports import Completion, Prompt
from core.talk import Talk, Turn
from gligabao_mcp.providers.anthropic_talk import messages_of, system_blocks, tools_of, turn_of
from gligabao_mcp.providers.failing import Gate, Refusal, Unusable, reading
from gligabao_mcp.providers.importing import imported
from gligabao_mcp.providers.thinking import STYLES, Style, Thinking, thinking

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from anthropic.types import (
        Base64ImageSourceParam,
        ContentBlockParam,
        Message,
        OutputConfigParam,
        TextBlockParam,
        ThinkingConfigParam,
    )

PROVIDER = "anthropic"


class AnthropicModel:
    """A LanguageModel over the Messages API. The SDK is imported with the first call."""

    def __init__(
        self,
        *,
        api_key: str,
        model: str = "",
        base_url: str = "",
        deadline: float = 50.0,
        max_retries: int = 2,
        styles: Mapping[str, Style] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = model or DEFAULT_MODEL
        self._api_key = api_key
        self._base_url = base_url
        self._max_retries = max_retries
        self._styles: Mapping[str, Style] = {**STYLES, **(styles or {})}
        self._gate = Gate(PROVIDER, "the Anthropic API", "ANTHROPIC_API_KEY", deadline, secret=api_key, clock=clock)
        self._client: AsyncAnthropic | None = None

    async def complete(self, prompt: Prompt, choice: Choice) -> Completion:
        """What the model writes, in the form of the schema where the server enforces it."""
        await self.warm()
        model = choice.model or self.model
        plan = thinking(model, choice.reasoning, self._styles)
        completion, latency_ms = await self._gate.call(
            lambda: self._send(prompt, model, plan), _refusal, model=model, reasoning=plan.level
        )
        return replace(completion, inference=replace(completion.inference, latency_ms=latency_ms))

    async def turn(self, talk: Talk, choice: Choice) -> Turn:
        """The model's next turn. It is never forced to call a tool: newer models refuse that."""
        await self.warm()
        model = choice.model or self.model
        plan = thinking(model, choice.reasoning, self._styles)
        turn, latency_ms = await self._gate.call(
            lambda: self._send_talk(talk, model, plan), _refusal, model=model, reasoning=plan.level
        )
        return replace(turn, inference=replace(turn.inference, latency_ms=latency_ms))

    async def warm(self) -> None:
        """Gets the slow part of the first call over with."""
        await imported("anthropic")

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._client is not None:
            await self._client.close()

    def _connected(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic, Timeout

        if self._client is None:
            self._client = AsyncAnthropic(
                api_key=self._api_key,  # always given: the SDK must not find another credential on the machine
                base_url=self._base_url or None,  # else ANTHROPIC_BASE_URL, else Anthropic's
                max_retries=self._max_retries,
                timeout=Timeout(None, connect=5.0),  # the gate's deadline holds for all tries together
                open_telemetry={"traces": False, "propagation": False},
            )
        return self._client

    async def _send(self, prompt: Prompt, model: str, plan: Thinking) -> Completion:
        from anthropic import omit
        from anthropic.types import Message

        system: TextBlockParam = {"type": "text", "text": prompt.system, "cache_control": {"type": "ephemeral"}}
        output: OutputConfigParam = {"format": {"type": "json_schema", "schema": dict(prompt.schema)}}
        if plan.effort:
            output["effort"] = plan.effort
        message = cast(
            "object",
            await self._connected().messages.create(
                model=model,
                max_tokens=prompt.max_tokens + plan.room,
                system=[system],
                messages=[{"role": "user", "content": _content(prompt)}],
                thinking=cast("ThinkingConfigParam", dict(plan.thinking)) if plan.thinking else omit,
                output_config=output,
            ),
        )
        # The SDK does not check what it receives: a proxy's error page comes back as a string.
        if not isinstance(message, Message):
            raise Unusable
        with reading():
            return _completion(message, model, plan.level)

    async def _send_talk(self, talk: Talk, model: str, plan: Thinking) -> Turn:
        from anthropic import omit
        from anthropic.types import Message

        message = cast(
            "object",
            await self._connected().messages.create(
                model=model,
                max_tokens=talk.max_tokens + plan.room,
                system=system_blocks(talk),
                messages=messages_of(talk),
                tools=tools_of(talk),
                tool_choice={"type": "auto"},
                thinking=cast("ThinkingConfigParam", dict(plan.thinking)) if plan.thinking else omit,
                output_config={"effort": plan.effort} if plan.effort else omit,
            ),
        )
        if not isinstance(message, Message):
            raise Unusable
        with reading():
            completion = _completion(message, model, plan.level)
            return turn_of(message, completion)


def _content(prompt: Prompt) -> str | list[ContentBlockParam]:
    """The user turn: the image, where there is one, stands before the words."""
    image = prompt.image
    if image is None or image.content is None:
        return prompt.user
    data = base64.b64encode(image.content).decode()
    source: Base64ImageSourceParam = {"type": "base64", "media_type": image.media_type, "data": data}
    return [{"type": "image", "source": source}, {"type": "text", "text": prompt.user}]


def _completion(message: Message, requested: str, level: Reasoning) -> Completion:
    inference = Inference(
        provider=PROVIDER,
        model=message.model or requested,
        requested_model=requested,
        usage=_usage(message),
        reasoning=level,
        stop_reason=message.stop_reason or "",
        request_id=message._request_id or "",  # pyright: ignore[reportPrivateUsage] - it is public
    )
    # Not content[0]: a block of thoughts may come first.
    text = "".join(block.text for block in message.content if block.type == "text")
    if message.stop_reason == "refusal":
        category = message.stop_details.category if message.stop_details else None
        return Completion(text, inference, "refused", category or "")
    if message.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        return Completion(text, inference, "truncated")
    return Completion(text, inference)


def _usage(message: Message) -> Usage:
    usage = message.usage
    cached, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    details, tools = usage.output_tokens_details, usage.server_tool_use
    return Usage(
        input=usage.input_tokens + cached + written,  # input_tokens leaves the cached ones out
        output=usage.output_tokens,
        cached=cached,
        cache_write=written,
        thinking=details.thinking_tokens if details else 0,
        web_searches=tools.web_search_requests if tools else 0,
    )


def _refusal(error: Exception) -> Refusal | None:
    from anthropic import APIConnectionError, APIError, APIStatusError

    if isinstance(error, APIStatusError):
        code = error.error_code or error.type or ""
        return Refusal(error.status_code, error.api_message or error.message, code, error.request_id or "")
    if isinstance(error, APIConnectionError):
        return Refusal(0, "can't be reached")
    return Refusal(200, "answered in a form that can't be read") if isinstance(error, APIError) else None
