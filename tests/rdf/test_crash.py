"""A process that is killed in the middle of a write leaves whole commits only."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from core.config import Config
from core.engine import NoEngine
from gligabao_mcp.wiring import Providers, open_core
from tests.facts import edge, tell_facts
from tests.processes import ROOT
from tests.rdf.history import History
from tests.rdf.loading import load, triples

pytestmark = pytest.mark.anyio

# Loads a document that stops coming in its middle, when most of it stands in the open transaction.
KILLED = """
import asyncio, json, sys, time
from pathlib import Path
from core.config import Config
from core.engine import NoEngine
from core.rdf.ports import Load
from gligabao_mcp.wiring import Providers, open_core

class Halting:
    lines = 0

    def seek(self, place):
        self.lines = 0

    def read(self, size):
        if self.lines >= 12_000:
            print("half", flush=True)
            time.sleep(600)
        self.lines += 10
        return b"".join(b'<urn:new> <urn:p> "%d" .\\n' % (self.lines + n) for n in range(10))

async def main():
    home, db = json.loads(sys.argv[1])
    async with open_core(Config(home=Path(home), db=db), Providers(NoEngine())) as core:
        await core.triples.load(Load("u1", "main", Halting(), "ntriples"), core.clock)

asyncio.run(main())
"""


async def test_a_process_that_is_killed_in_a_load_leaves_whole_commits(config: Config) -> None:
    async with open_core(config, Providers(NoEngine())) as core:
        await tell_facts(core, edge("Alice", "knows", "Bob"))
        await load(core, "<urn:a> <urn:p> <urn:b> .")
        before = await History(core, 0).whole()
    place = json.dumps([str(config.home), config.db])
    command = [sys.executable, "-c", KILLED, place]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "half\n"
        process.kill()
    async with open_core(config, Providers(NoEngine())) as core:
        history = History(core, 0)
        assert await history.whole() == before
        assert (await load(core, "<urn:a> <urn:p> <urn:c> .")).committed_commit_seq == 3
        assert await triples(core) == {"<urn:a> <urn:p> <urn:b>", "<urn:a> <urn:p> <urn:c>"}
        assert await history.whole(2) == before
