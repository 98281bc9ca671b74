"""Providers that need nobody: a language model with given replies, and an embedder made of hashes."""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
from collections import deque
from collections.abc import Mapping, Sequence

from core.errors import ModelFailed
from core.inferences import Choice, Inference, Usage
from core.ports import Completion, Embedded, Prompt
from core.talk import Talk, ToolCall, Turn

ScriptedReply = str | Mapping[str, object] | Sequence[object] | Completion | Exception
ScriptedTurn = str | Sequence[tuple[str, Mapping[str, object]]] | Turn | Exception
"""Words, tool calls by name and arguments, a whole turn, or a failure."""


class ScriptedModel:
    """A language model that gives the replies it was told to give, in order, and remembers what it was asked.

    A dict or a list is sent as JSON, an exception is raised. With `always` it never runs out. In a talk with tools it
    takes the turns it was given.
    """

    def __init__(self, *replies: ScriptedReply, model: str = "scripted-1", always: ScriptedReply | None = None) -> None:
        self.model = model
        self.prompts: list[Prompt] = []
        self.choices: list[Choice] = []
        self._replies: deque[ScriptedReply] = deque(replies)
        self._always = always
        self.talks: list[Talk] = []
        self._turns: deque[ScriptedTurn] = deque()

    def turns(self, *turns: ScriptedTurn) -> None:
        """Adds the turns that come next."""
        self._turns.extend(turns)

    async def turn(self, talk: Talk, choice: Choice) -> Turn:
        """The next turn."""
        self.talks.append(talk)
        self.choices.append(choice)
        if not self._turns:
            raise AssertionError(f"no turn is scripted for this talk:\n{talk.messages[-1]}")
        turn = self._turns.popleft()
        if isinstance(turn, Exception):
            raise turn
        if isinstance(turn, Turn):
            return turn
        number = len(self.talks)
        stated = () if isinstance(turn, str) else turn
        calls = [ToolCall(f"call-{number}-{n}", name, arguments) for n, (name, arguments) in enumerate(stated)]
        return Turn(turn if isinstance(turn, str) else "", calls, self._inference(choice), f"turn {number}")

    def replies(self, *replies: ScriptedReply) -> None:
        """Adds what comes next."""
        self._replies.extend(replies)

    async def complete(self, prompt: Prompt, choice: Choice) -> Completion:
        """The next reply."""
        self.prompts.append(prompt)
        self.choices.append(choice)
        reply = self._replies.popleft() if self._replies else self._always
        if reply is None:
            raise AssertionError(f"no reply is scripted for this {prompt.schema_name} prompt:\n{prompt.user}")
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Completion):
            return reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        return Completion(text, self._inference(choice))

    def _inference(self, choice: Choice) -> Inference:
        return Inference(
            provider="scripted",
            model=choice.model or self.model,
            requested_model=choice.model or self.model,
            usage=Usage(input=100, output=20),
            reasoning=choice.reasoning,
            latency_ms=1,
            stop_reason="end_turn",
        )

    async def aclose(self) -> None:
        """Nothing to close."""


class HashEmbedder:
    """An embedder without a model: texts that share words have similar vectors, the same text always the same one."""

    def __init__(self, *, dim: int = 64, model: str = "hash-1") -> None:
        self.model = model
        self.dim = dim
        self.batches: list[list[str]] = []
        self._failures: deque[Exception] = deque()
        self._always: Exception | None = None

    @property
    def calls(self) -> int:
        """How many requests were made, failed ones included."""
        return len(self.batches)

    def fails(self, *failures: Exception) -> None:
        """The next requests fail, one with each; without arguments, with a ModelFailed."""
        self._failures.extend(failures or [ModelFailed("the embedder was told to fail")])

    def fails_always(self, failure: Exception | None) -> None:
        """Every request fails from now on; None ends that."""
        self._always = failure

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """A unit vector for each text, in order."""
        self.batches.append(list(texts))
        failure = self._failures.popleft() if self._failures else self._always
        if failure is not None:
            raise failure
        usage = Usage(input=sum(len(text.split()) for text in texts))
        inference = Inference("scripted", self.model, self.model, usage, latency_ms=1)
        return Embedded(tuple(self._vector(text) for text in texts), inference)

    def _vector(self, text: str) -> bytes:
        values = [0.0] * self.dim
        for word in re.findall(r"\w+", text.casefold()) or [""]:
            digest = hashlib.sha256(word.encode()).digest()
            values[int.from_bytes(digest[:4], "little") % self.dim] += 1.0 if digest[4] % 2 else -1.0
        length = math.sqrt(sum(value * value for value in values))
        if not length:  # the words cancelled one another out
            values[0] = length = 1.0
        return struct.pack(f"<{self.dim}f", *(value / length for value in values))

    async def aclose(self) -> None:
        """Nothing to close."""
