"""A document of 1 MB with instant scripted providers: CPU beyond the vector index, and how often that is written.

    python -m benchmarks.document

CPU is process time (threads included) less what the vector index and the scripted model and embedder took.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.book import PAGE, book
from benchmarks.remember import Clocked, InstantEmbedder, InstantModel
from core.config import Config
from core.engine import PromptedEngine
from core.inferences import Choice
from core.ports import Completion, Prompt
from core.remember.remember import remember
from core.remember.request import RememberRequest
from core.remember.response import RememberResponse
from gligabao_mcp.wiring import Providers, open_core
from storage.outbox import VectorOutbox

SIZE = 1_000_000
PER_MERGE = 8


class InstantReader(InstantModel):
    """Reads two facts from each chunk and sums it up in a sentence."""

    async def _reply(self, prompt: Prompt, choice: Choice) -> Completion:
        if prompt.schema_name == "summarize_chunk":
            self.replies({"summary": f"Part {self.texts} tells of a person and a thing."})
            return await super(InstantModel, self).complete(prompt, choice)
        return await super()._reply(prompt, choice)


async def main() -> None:
    text = book(SIZE // PAGE + 1)[:SIZE]
    with tempfile.TemporaryDirectory() as folder:
        config = Config(home=Path(folder), log_level="error")
        model, embedder = InstantReader(), InstantEmbedder()
        async with open_core(config, Providers(PromptedEngine(model), embedder)) as core:
            index = Clocked(str(Path(folder) / "vectors"))
            assert isinstance(core.vectors, VectorOutbox)
            core.vectors.index = index
            await asyncio.to_thread(index.warm)
            await remember(core, RememberRequest(user_id="bench", text="The libraries are imported."))
            index.cpu, index.upserts, model.cpu, embedder.cpu = 0.0, 0, 0.0, 0.0
            began, wall = time.process_time(), time.perf_counter()
            told = await remember(core, RememberRequest(user_id="bench", text=text))
            cpu = time.process_time() - began - index.cpu - model.cpu - embedder.cpu
            wall = time.perf_counter() - wall
    assert isinstance(told, RememberResponse) and told.chunks is not None
    chunks = len(told.chunks)
    print(f"characters, chunks            {len(text)}, {chunks}")
    print(f"CPU beyond index and providers {cpu:.2f} s (at most 3)")
    print(f"index {index.cpu:.2f} s, providers {model.cpu + embedder.cpu:.2f} s, wall {wall:.1f} s")
    print(f"index writes, of 4 indexes    {index.upserts}: one for every {4 * chunks / index.upserts:.1f} chunks")


if __name__ == "__main__":
    asyncio.run(main())
