"""remember with an instant model and embedder: CPU time of one call, and whether it grows with the memory.

    python -m benchmarks.remember

Fills a memory with 10,000 facts, then remembers 500 texts of two facts each. CPU is process time (threads included)
less what the vector index and the scripted model and embedder took. The last line compares the mean of all 500 calls,
compaction of the index included, with that of the first 50.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from core.config import Config
from core.core import Core
from core.engine import PromptedEngine
from core.inferences import Choice
from core.ports import Completion, Embedded, Hit, Prompt
from core.remember.remember import remember
from core.remember.request import RememberRequest
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from storage.outbox import VectorOutbox
from storage.vectors import LanceIndex, VectorRow

FACTS, CALLS, FIRST = 10_000, 500, 50
PEOPLE = 1_000


class InstantModel(ScriptedModel):
    """Reads two facts from each text, new ones about people it knows, and finds nothing repeated."""

    texts = 0

    cpu = 0.0

    async def complete(self, prompt: Prompt, choice: Choice) -> Completion:
        began = time.thread_time()
        try:
            return await self._reply(prompt, choice)
        finally:
            self.cpu += time.thread_time() - began

    async def _reply(self, prompt: Prompt, choice: Choice) -> Completion:
        self.replies(self._graph() if prompt.schema_name == "extract_graph" else {"results": []})
        return await super().complete(prompt, choice)

    def _graph(self) -> dict[str, object]:
        self.texts += 1
        person, other = f"person {self.texts % PEOPLE}", f"person {self.texts * 7 % PEOPLE}"
        thing = f"thing {self.texts}"
        names = [{"name": name, "type": "thing", "description": "told"} for name in (person, other, thing)]
        edges = [_edge(person, "likes", thing), _edge(person, f"told_{self.texts}", other)]
        return {"entities": names, "edges": edges}


class InstantEmbedder(HashEmbedder):
    """Vectors at once, and the CPU time that they took."""

    cpu = 0.0

    async def embed(self, texts: Sequence[str]) -> Embedded:
        began = time.thread_time()
        try:
            return await super().embed(texts)
        finally:
            self.cpu += time.thread_time() - began


def _edge(source: str, relation: str, target: str) -> dict[str, object]:
    said = f"{source} {relation} {target}"
    return {
        "source": source,
        "target": target,
        "relation": relation,
        "description": said,
        "valid_at": None,
        "invalid_at": None,
    }


class Clocked(LanceIndex):
    """The index, with the CPU time that it takes."""

    cpu = 0.0
    upserts = 0

    def upsert(
        self, dataset_id: int, index: str, rows: Sequence[VectorRow], generation: int = 0, model: str = ""
    ) -> None:
        with self._clocked():
            super().upsert(dataset_id, index, rows, generation, model)
        self.upserts += 1

    def search(
        self,
        dataset_id: int,
        index: str,
        vectors: Sequence[bytes],
        limit: int,
        generation: int = 0,
        among: Sequence[int] | None = None,
    ) -> list[list[Hit]]:
        with self._clocked():
            return super().search(dataset_id, index, vectors, limit, generation, among)

    @contextmanager
    def _clocked(self) -> Generator[None]:
        began = time.process_time()
        yield
        self.cpu += time.process_time() - began


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Config(home=Path(folder), log_level="error")
        model, embedder = InstantModel(), InstantEmbedder()
        async with open_core(config, Providers(PromptedEngine(model), embedder)) as core:
            index = Clocked(str(Path(folder) / "vectors"))
            assert isinstance(core.vectors, VectorOutbox)
            core.vectors.index = index
            await fill(core)
            own, walls, upserts = await measure(core, index, lambda: index.cpu + model.cpu + embedder.cpu)
    median = statistics.median(own)
    print(f"facts stored before          {FACTS}")
    print(f"CPU of a call, all ours      median {median:.1f} ms (at most 10)")
    print(f"upserts of a call            at most {max(upserts)} (at most 2)")
    ratio = statistics.mean(walls) / statistics.mean(walls[:FIRST])
    print(f"mean of {CALLS} calls / first {FIRST}  {ratio:.2f} (at most 1.5)")


async def fill(core: Core) -> None:
    """The memory before the clock starts: told by callers in long lists, so that it is soon done."""
    for start in range(0, FACTS, 250):
        edges = [_edge(f"person {i % PEOPLE}", "knows", f"friend {i}") for i in range(start, start + 250)]
        request = {"user_id": "bench", "text": f"list {start}", "edges": edges}
        await remember(core, RememberRequest.model_validate(request))


async def measure(
    core: Core, index: Clocked, others: Callable[[], float]
) -> tuple[list[float], list[float], list[int]]:
    """For each call: CPU milliseconds without those of the others, wall seconds, and upserts."""
    own: list[float] = []
    walls: list[float] = []
    upserts: list[int] = []
    for number in range(CALLS):
        cpu, inside, wall, before = time.process_time(), others(), time.perf_counter(), index.upserts
        await remember(core, RememberRequest(user_id="bench", text=f"text {number}", session_id="bench"))
        own.append((time.process_time() - cpu - (others() - inside)) * 1000)
        walls.append(time.perf_counter() - wall)
        upserts.append(index.upserts - before)
    return own, walls, upserts


if __name__ == "__main__":
    asyncio.run(main())
