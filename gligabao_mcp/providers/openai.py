"""Language models and embeddings of the OpenAI API, and of the many servers that speak it."""

from __future__ import annotations

import base64
import json
import logging
import math
import struct
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from core.errors import ModelFailed
from core.inferences import THINKING_TOKENS, Choice, Inference, Usage
from core.ports import Completion, Embedded, Prompt
from core.talk import CannotCallTools, Talk, Turn
from core.tokens import count_tokens, lengths
from gligabao_mcp.providers.failing import Gate, Refusal, Unusable, reading
from gligabao_mcp.providers.importing import imported
from gligabao_mcp.providers.openai_talk import messages_of, tools_of, turn_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import CreateEmbeddingResponse
    from openai.types.chat import ChatCompletion, ChatCompletionContentPartParam
    from openai.types.chat.completion_create_params import ResponseFormat

log = logging.getLogger(__name__)

PROVIDER = "openai"
KEY_SETTING = "OPENAI_API_KEY"
OFFICIAL = "api.openai.com"
NO_TOOLS = "it takes no tools"

Rung = Literal["json_schema", "json_object", "none"]
RUNGS: tuple[Rung, ...] = ("json_schema", "json_object", "none")

# Limits of OpenAI's embeddings endpoint.
MAX_INPUTS = 2048
MAX_INPUT_TOKENS = 8192
MAX_REQUEST_TOKENS = 300_000
# The API refuses an empty text; callers send none, and one blank text must not fail the others.
_BLANK = "(blank)"


class OpenAIModel:
    """A LanguageModel over chat completions, which all such servers know. The SDK is imported with the first call.

    `takes_effort`: the server knows reasoning_effort. OpenAI's own does; elsewhere a level is not sent and `none` is
    recorded.
    """

    def __init__(
        self,
        *,
        model: str,
        api_key: str = "",
        base_url: str = "",
        takes_effort: bool = False,
        deadline: float = 50.0,
        max_retries: int = 2,
    ) -> None:
        self.model = model
        self._takes_effort = takes_effort
        self._connection = _Connection(api_key, base_url, max_retries)
        self._gate = _gate(api_key, deadline, base_url)
        self._rungs: dict[str, Rung] = {}

    @property
    def official(self) -> bool:
        """Whether it talks to OpenAI's own server."""
        return self._connection.client().base_url.host == OFFICIAL

    async def complete(self, prompt: Prompt, choice: Choice) -> Completion:
        """What the model writes, in the strictest form of JSON that the server takes."""
        await self.warm()
        model = choice.model or self.model
        takes_effort = self._takes_effort or self.official
        level = choice.reasoning if takes_effort else "none"
        completion, latency_ms = await self._gate.call(
            lambda: self._climb_down(prompt, Choice(model, level)), _refusal, model=model, reasoning=level
        )
        inference = replace(completion.inference, latency_ms=latency_ms)
        if not self.official:
            _warn_if_cut(prompt, inference)
        return replace(completion, inference=inference)

    async def turn(self, talk: Talk, choice: Choice) -> Turn:
        """The model's next turn."""
        await self.warm()
        model = choice.model or self.model
        level = choice.reasoning if self._takes_effort or self.official else "none"
        # A server that has answered takes tools, whatever its error says of them.
        explain = _refusal if any(isinstance(one, Turn) for one in talk.messages) else _talk_refusal
        try:
            turn, latency_ms = await self._gate.call(
                lambda: self._send_talk(talk, Choice(model, level)), explain, model=model, reasoning=level
            )
        except ModelFailed as failure:
            if NO_TOOLS in failure.message:
                raise CannotCallTools(failure.message, inferences=failure.inferences) from None
            raise
        return replace(turn, inference=replace(turn.inference, latency_ms=latency_ms))

    async def warm(self) -> None:
        """Gets the slow part of the first call over with."""
        await imported("openai", "toktok")

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._connection.aclose()

    async def _send_talk(self, talk: Talk, choice: Choice) -> Turn:
        from openai import omit
        from openai.types.chat import ChatCompletion

        limit = talk.max_tokens + THINKING_TOKENS[choice.reasoning]
        completion = cast(
            "object",
            await self._connection.client().chat.completions.create(
                model=choice.model,
                messages=messages_of(talk),
                tools=tools_of(talk),
                max_tokens=omit if self.official else limit,
                max_completion_tokens=limit if self.official else omit,
                reasoning_effort=omit if choice.reasoning == "none" else choice.reasoning,
            ),
        )
        if not isinstance(completion, ChatCompletion):
            raise Unusable
        with reading():
            return turn_of(completion.choices[0].message, _completion(completion, choice))

    async def _climb_down(self, prompt: Prompt, choice: Choice) -> Completion:
        """Asks in the strictest form first; a form that the server refuses is not tried again for that model."""
        from openai import BadRequestError, UnprocessableEntityError

        for rung in RUNGS[RUNGS.index(self._rungs.get(choice.model, RUNGS[0])) :]:
            try:
                completion = await self._send(prompt, choice, rung)
            except (BadRequestError, UnprocessableEntityError) as error:
                if rung == "none" or not (rung == "json_object" or _names_format(error)):
                    raise
                continue
            self._rungs[choice.model] = rung
            return completion
        raise AssertionError("the last rung returns or raises")

    async def _send(self, prompt: Prompt, choice: Choice, rung: Rung) -> Completion:
        from openai import omit
        from openai.types.chat import ChatCompletion

        client = self._connection.client()
        limit = prompt.max_tokens + THINKING_TOKENS[choice.reasoning]
        completion = cast(
            "object",
            await client.chat.completions.create(
                model=choice.model,
                messages=[
                    {"role": "system", "content": _system(prompt)},
                    {"role": "user", "content": _content(prompt)},
                ],
                # OpenAI's newer models refuse max_tokens; local servers know nothing else.
                max_tokens=omit if self.official else limit,
                max_completion_tokens=limit if self.official else omit,
                reasoning_effort=omit if choice.reasoning == "none" else choice.reasoning,
                response_format=_format(prompt, rung) or omit,
            ),
        )
        if not isinstance(completion, ChatCompletion):
            raise Unusable
        with reading():
            return _completion(completion, choice)


class OpenAIEmbedder:
    """An Embedder over /embeddings: one request unless a limit of the API would be broken."""

    def __init__(
        self,
        *,
        model: str = "text-embedding-3-small",
        dim: int = 1536,
        api_key: str = "",
        base_url: str = "",
        deadline: float = 50.0,
        max_retries: int = 2,
    ) -> None:
        self.model = model
        self.dim = dim
        self._connection = _Connection(api_key, base_url, max_retries)
        self._gate = _gate(api_key, deadline, base_url)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """A unit vector for each text, in order."""
        await self.warm()
        replies, latency_ms = await self._gate.call(lambda: self._send(texts), _refusal, model=self.model)
        inference = Inference(
            provider=PROVIDER,
            model=replies[0].model if replies else self.model,
            requested_model=self.model,
            usage=Usage(input=sum(reply.tokens for reply in replies)),
            latency_ms=latency_ms,
        )
        return Embedded(tuple(vector for reply in replies for vector in reply.vectors), inference)

    async def warm(self) -> None:
        """Gets the slow part of the first call over with."""
        await imported("openai", "toktok")

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._connection.aclose()

    async def _send(self, texts: Sequence[str]) -> list[_Embeddings]:
        from openai import omit

        replies: list[_Embeddings] = []
        for batch in _batches(texts):
            with reading():  # the call too: the SDK takes the answer apart itself, and trips over what is missing
                reply = await self._connection.client().embeddings.create(
                    model=self.model,
                    input=batch,
                    dimensions=self.dim if self.model.startswith("text-embedding-3") else omit,
                )
                replies.append(self._read(reply, len(batch)))
        return replies

    def _read(self, reply: CreateEmbeddingResponse, count: int) -> _Embeddings:
        if len(reply.data) != count:
            raise Unusable(f"returned {len(reply.data)} vectors for {count} texts")
        # The API promises no order; where a server numbers nothing, the order it sent stays.
        vectors = [self._packed(item.embedding) for item in sorted(reply.data, key=lambda item: item.index)]
        tokens = reply.usage.prompt_tokens if "usage" in reply.model_fields_set else 0
        return _Embeddings(tuple(vectors), reply.model or self.model, tokens)

    def _packed(self, vector: Sequence[float]) -> bytes:
        """The vector at unit length, as little-endian float32."""
        if len(vector) != self.dim:
            raise Unusable(f"returned vectors of {len(vector)} numbers, but embedding_dimensions is {self.dim}")
        length = math.hypot(*vector)
        if not 0 < length < math.inf:
            raise Unusable("returned a vector without a direction")
        return struct.pack(f"<{self.dim}f", *(value / length for value in vector))


class _Embeddings(NamedTuple):
    """What one request gave."""

    vectors: tuple[bytes, ...]
    model: str
    tokens: int


class _Connection:
    """The SDK's client, made when it is first needed."""

    def __init__(self, api_key: str, base_url: str, max_retries: int) -> None:
        self._api_key = api_key
        self._base_url = base_url
        self._max_retries = max_retries
        self._client: AsyncOpenAI | None = None

    def client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, Timeout

        if self._client is None:
            self._client = AsyncOpenAI(
                api_key=self._api_key or "none",  # local servers want none, the SDK wants one
                base_url=self._base_url or None,  # else OPENAI_BASE_URL, else OpenAI's
                max_retries=self._max_retries,
                timeout=Timeout(None, connect=5.0),  # the gate's deadline holds for all tries together
            )
        return self._client

    async def aclose(self) -> None:
        if self._client is not None:
            await self._client.close()


def _gate(api_key: str, deadline: float, base_url: str) -> Gate:
    name = "the OpenAI-compatible server" if base_url else "the OpenAI API"
    return Gate(PROVIDER, name, KEY_SETTING, deadline, secret=api_key)


def _warn_if_cut(prompt: Prompt, inference: Inference) -> None:
    """A server with a short context (4096 is Ollama's default) drops the rest of a prompt without a word."""
    expected = count_tokens(prompt.system) + count_tokens(prompt.user)
    if 0 < inference.usage.input < expected / 2:
        log.warning(
            "model %s saw %d tokens of a prompt of about %d: raise the context size of its server",
            inference.model,
            inference.usage.input,
            expected,
        )


def _system(prompt: Prompt) -> str:
    """The schema stands in the prompt as well: not every server enforces it, and some only claim to."""
    return f"{prompt.system}\nThe JSON schema of the object:\n{json.dumps(prompt.schema)}\n"


def _content(prompt: Prompt) -> str | list[ChatCompletionContentPartParam]:
    """The user turn: the image, where there is one, stands before the words."""
    image = prompt.image
    if image is None or image.content is None:
        return prompt.user
    url = f"data:{image.media_type};base64,{base64.b64encode(image.content).decode()}"
    return [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": prompt.user}]


def _format(prompt: Prompt, rung: Rung) -> ResponseFormat | None:
    if rung == "none":
        return None
    if rung == "json_object":
        return {"type": "json_object"}
    return {
        "type": "json_schema",
        "json_schema": {"name": prompt.schema_name, "strict": True, "schema": dict(prompt.schema)},
    }


def _names_format(error: Exception) -> bool:
    return any(word in str(error) for word in ("response_format", "json_schema"))


def _completion(completion: ChatCompletion, asked: Choice) -> Completion:
    said = completion.choices[0]
    inference = Inference(
        provider=PROVIDER,
        model=completion.model or asked.model,
        requested_model=asked.model,
        usage=_usage(completion),
        reasoning=asked.reasoning,
        stop_reason=said.finish_reason or "",
        request_id=completion._request_id or "",  # pyright: ignore[reportPrivateUsage] - it is public
    )
    text = said.message.content or ""
    if said.finish_reason == "length":
        return Completion(text, inference, "truncated")
    if said.finish_reason == "content_filter" or said.message.refusal:
        return Completion(text, inference, "refused")
    return Completion(text, inference)


def _usage(completion: ChatCompletion) -> Usage:
    if (usage := completion.usage) is None:
        return Usage()
    prompt, written = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        input=usage.prompt_tokens,
        output=usage.completion_tokens,
        cached=(prompt.cached_tokens or 0) if prompt else 0,
        thinking=(written.reasoning_tokens or 0) if written else 0,
    )


def _batches(texts: Sequence[str]) -> list[list[str]]:
    """The texts as they are sent, cut where one is too long, in as few requests as the limits allow."""
    batches: list[list[str]] = []
    room = 0
    sent = [text if text.strip() else _BLANK for text in texts]
    for text, tokens in zip(sent, lengths(sent, MAX_INPUT_TOKENS), strict=True):
        if tokens > MAX_INPUT_TOKENS:
            text, tokens = _cut(text), MAX_INPUT_TOKENS
        if tokens > room or len(batches[-1]) == MAX_INPUTS:
            batches.append([])
            room = MAX_REQUEST_TOKENS
        batches[-1].append(text)
        room -= tokens
    return batches


def _cut(text: str) -> str:
    import toktok  # pyright: ignore[reportMissingTypeStubs]

    return toktok.truncate(text, MAX_INPUT_TOKENS - 1)[0]


def _refusal(error: Exception) -> Refusal | None:
    from openai import APIConnectionError, APIError, APIStatusError

    if isinstance(error, APIStatusError):
        return Refusal(error.status_code, _said(error.body) or error.message, error.code or "", error.request_id or "")
    if isinstance(error, APIConnectionError):
        return Refusal(0, "can't be reached")
    return Refusal(200, "answered in a form that can't be read") if isinstance(error, APIError) else None


def _talk_refusal(error: Exception) -> Refusal | None:
    """The same, where the server was offered tools: that it takes none is a matter of its model or its settings."""
    refusal = _refusal(error)
    if refusal is None or refusal.status not in (400, 404, 422, 501) or "tool" not in refusal.message.lower():
        return refusal
    return replace(refusal, status=400, message=f"{NO_TOOLS}: {refusal.message}")


def _said(body: object) -> str:
    """The message of an error without the status and the braces that the SDK wraps it in."""
    message = cast("dict[str, object]", body).get("message") if isinstance(body, dict) else None
    return message if isinstance(message, str) else ""
