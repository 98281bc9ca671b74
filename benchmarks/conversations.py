"""What remembering a conversation costs: model calls and prompt tokens for each message, sent with `messages`.

    python -m benchmarks.conversations locomo.json

The file is one of LoCoMo (github.com/snap-research/LoCoMo, CC BY-NC 4.0: for evaluation, never a part of this project).
Its own observations are what the scripted model reads, each offered under the message it belongs to; each session of a
conversation is one call of remember. A fact counts when it is stored and linked to that message. Tokens are characters
divided by four, prompt and schema.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.config import Config
from core.core import Core
from core.engine import PromptedEngine
from core.inferences import Choice
from core.ports import Completion, Prompt
from core.remember.remember import remember
from core.remember.request import RememberRequest
from core.remember.response import ConversationResponse
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core

_LINE = re.compile(r"^\[(\d+)\] .*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Session:
    """One session of a conversation: its messages, and what may be read from each, by message id."""

    messages: list[dict[str, str]]
    observations: dict[str, list[str]]


class ObservingModel(ScriptedModel):
    """Reads from each message the observations of the data, and finds nothing repeated. Counts calls and tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.tokens = 0.0
        self.known: dict[str, list[str]] = {}
        """By the words of a message, what is observed of it."""

    async def complete(self, prompt: Prompt, choice: Choice) -> Completion:
        self.calls += 1
        self.tokens += len(prompt.system + prompt.user + json.dumps(prompt.schema)) / 4
        self.replies(self._graph(prompt.user) if prompt.schema_name == "extract_messages" else {"results": []})
        return await super().complete(prompt, choice)

    def _graph(self, stretch: str) -> dict[str, object]:
        edges = [
            _edge(int(line[1]), observation)
            for line in _LINE.finditer(stretch)
            for words, observations in self.known.items()
            if line[0].endswith(words)
            for observation in observations
        ]
        return {"entities": [], "edges": edges}


def _edge(message: int, observation: str) -> dict[str, object]:
    subject, _, rest = observation.partition(" ")
    times = {"valid_at": None, "invalid_at": None}
    fact = {"source": subject, "relation": "observed", "target": rest[:80], "description": observation}
    return {"message": message, **fact, **times}


def sessions(path: Path) -> Iterator[tuple[str, Session]]:
    """The sessions of all conversations, each with the name of its conversation."""
    for sample in json.loads(path.read_text("utf-8")):
        talk: dict[str, Any] = sample["conversation"]
        for name in sorted((key for key in talk if re.fullmatch(r"session_\d+", key)), key=lambda k: int(k[8:])):
            written = datetime.strptime(talk[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            messages = [
                {"id": m["dia_id"], "speaker": m["speaker"], "text": m["text"], "reference_time": written.isoformat()}
                for m in talk[name]
            ]
            yield sample["sample_id"], Session(messages, _observations(sample["observation"][f"{name}_observation"]))


def _observations(stated: dict[str, list[list[Any]]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for observation, said_in in (pair for pairs in stated.values() for pair in pairs):
        message = said_in if isinstance(said_in, str) else said_in[0]
        found.setdefault(message, []).append(observation)
    return found


async def tell(core: Core, conversation: str, session: Session) -> tuple[int, int]:
    """Remembers a session: how many observations there were, and how many are facts linked to their message."""
    stated = {"user_id": "bench", "dataset": conversation, "messages": session.messages}
    told = await remember(core, RememberRequest.model_validate(stated))
    assert isinstance(told, ConversationResponse)
    facts = {edge.id: edge.description for edge in told.edges}
    linked = {(m.id, facts.get(i)) for m in told.messages for i in m.edge_ids or ()}
    wanted = {(m["id"], o) for m in session.messages for o in session.observations.get(m["id"], ())}
    return len(wanted), len(wanted & linked)


async def main(path: Path) -> None:
    model = ObservingModel()
    messages = observed = linked = 0
    with tempfile.TemporaryDirectory() as folder:
        config = Config(home=Path(folder), log_level="error")
        async with open_core(config, Providers(PromptedEngine(model), HashEmbedder())) as core:
            for conversation, session in sessions(path):
                words = {" ".join(m["text"].split()): session.observations.get(m["id"], []) for m in session.messages}
                model.known = {text: found for text, found in words.items() if found}
                wanted, found = await tell(core, conversation, session)
                messages, observed, linked = messages + len(session.messages), observed + wanted, linked + found
    print(f"messages                        {messages}")
    print(f"model calls per message         {model.calls / messages:.3f} (at most 0.2)")
    print(f"prompt tokens per message       {model.tokens / messages:.0f} (at most 500)")
    print(f"observations linked to theirs   {linked} of {observed}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m benchmarks.conversations locomo.json")
    asyncio.run(main(Path(sys.argv[1])))
