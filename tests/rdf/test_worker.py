"""The process that answers queries: it keeps deadlines and limits, whatever the query, and goes on."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from core.errors import QueriesUnavailable, QueryTimeout
from core.rdf.vocabulary import RDF, RDFS
from storage.rdf import messages as m
from storage.rdf.changes import Changes, QuadRow
from storage.rdf.process import Gone, Reply, WorkerProcess
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
KEY = m.Key(1)
ROWS = 300
COUNT = "SELECT (COUNT(*) AS ?n) { ?s <urn:next> ?o }"


def numbers() -> Changes:
    """A ring of things, each with a long text."""
    quads = [QuadRow(f"<urn:{n}>", "<urn:next>", f"<urn:{(n + 1) % ROWS}>") for n in range(ROWS)]
    quads += [QuadRow(f"<urn:{n}>", "<urn:says>", f'"{"a" * 2000}{n}"') for n in range(ROWS)]
    return Changes(1, 1, quads=dict(enumerate(quads)), whole=True)


def run(text: str, *, seconds: float = 20.0, entailment: str = "none", limit: int | None = None) -> m.Run:
    return m.Run(KEY, text, False, limit, 0, 1000, entailment, seconds, lowest=1, now=1)


async def ask(process: WorkerProcess, query: m.Run) -> Reply:
    return await process.ask(query, query.seconds)


async def count(process: WorkerProcess) -> int:
    """A query that is answered rightly."""
    reply = await ask(process, run(COUNT))
    assert reply[0] == m.ROWS
    return int(reply[4][0][0][1])


async def bring(process: WorkerProcess) -> None:
    assert await process.ask(m.Bring(KEY, "urn:x:", False, 1, numbers()), 20) == (m.DONE,)


@pytest.fixture
async def process() -> AsyncGenerator[WorkerProcess]:
    process = WorkerProcess()
    await bring(process)
    yield process
    process.close()


# Hostile queries ------------------------------------------------------------------------------------------------------

THINGS = " . ".join(f"?a{n} ?b{n} ?c{n}" for n in range(6))
ENDLESS = f"SELECT (COUNT(*) AS ?n) {{ {THINGS} }}"
ALL = f"CONCAT({', '.join(f'STR(?c{n})' for n in range(6))})"
NEXTS = "?a (<urn:next>+/<urn:next>*/<urn:next>+)+ ?b . ?b (!<urn:x>)+ ?c . ?c (!<urn:x>)+ ?d"
OTHERS = THINGS.replace("?", "?x")
RUNAWAYS = {
    "cross product": ENDLESS,
    "deep path": f"SELECT (COUNT(*) AS ?n) {{ {NEXTS} }}",
    "comparison of all with all": f'SELECT * {{ {THINGS} FILTER({ALL} = "no") }}',
    "regular expression": f'SELECT * {{ {THINGS} FILTER(REGEX({ALL}, "(a*)*(a|aa)+(.*.*.*.*)no$")) }}',
}
BOMBS = {
    "exists in exists": f"SELECT * {{ {THINGS} FILTER NOT EXISTS {{ {OTHERS} FILTER({ALL} = STR(?xc5)) }} }}",
    "sorted cross product": "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?c ?f ?i",
    "long words": "SELECT ?x { "
    + "VALUES ?a0 { '0123456789' } "
    + " ".join(f"BIND(CONCAT({', '.join([f'?a{n}'] * 40)}) AS ?a{n + 1})" for n in range(6))
    + " BIND(STRLEN(?a6) AS ?x) }",
    "all words in one": f"SELECT (GROUP_CONCAT(?c0) AS ?x) {{ {THINGS} }}",
    "groups without end": f"SELECT ?a0 ?a1 ?a2 ?a3 (COUNT(*) AS ?n) {{ {THINGS} }} GROUP BY ?a0 ?a1 ?a2 ?a3",
    "distinct rows without end": f"SELECT DISTINCT * {{ {THINGS} }} OFFSET 100000000",
}


@needs_fork
@requirement("ask.query-time")
@pytest.mark.parametrize("text", RUNAWAYS.values(), ids=list(RUNAWAYS))
async def test_a_query_that_runs_away_is_stopped_at_its_deadline(process: WorkerProcess, text: str) -> None:
    began = time.monotonic()
    reply = await ask(process, run(text, seconds=1.0))
    assert reply == (m.TIMEOUT,)
    assert 0.9 < time.monotonic() - began < 1.5
    assert await count(process) == ROWS


@needs_fork
@pytest.mark.skipif(sys.platform != "linux", reason="only there memory is limited")
@pytest.mark.parametrize("text", BOMBS.values(), ids=list(BOMBS))
async def test_a_query_that_eats_memory_ends_at_its_share_or_its_deadline(process: WorkerProcess, text: str) -> None:
    asked = asyncio.create_task(ask(process, run(text, seconds=6.0)))
    most = 0
    while not asked.done():
        most = max(most, memory_of(process))
        await asyncio.sleep(0.02)
    assert (await asked)[0] in (m.TOO_LARGE, m.TIMEOUT)
    assert most < 1 << 30
    assert await count(process) == ROWS


def memory_of(process: WorkerProcess) -> int:
    """What the worker and its children use."""
    assert process.pid
    total = 0
    worker = psutil.Process(process.pid)
    for one in (worker, *worker.children()):
        try:
            total += one.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


@needs_fork
@pytest.mark.parametrize(
    "text", ["SELECT * { " + "{" * 5000 + "}" * 5000 + " }", "SELECT (" + "(" * 9000, "ASK {" + "!" * 9000]
)
async def test_a_query_that_is_nested_too_deeply_is_refused(process: WorkerProcess, text: str) -> None:
    assert (await ask(process, run(text)))[0] == m.REFUSED
    assert (await process.ask(m.Parse(text, 5), 5))[0] == m.REFUSED
    assert await count(process) == ROWS


@needs_fork
async def test_others_go_on_while_queries_run_away(process: WorkerProcess) -> None:
    away = [asyncio.create_task(ask(process, run(ENDLESS, seconds=4.0))) for _ in range(4)]
    await asyncio.sleep(0.3)
    for _ in range(5):
        began = time.monotonic()
        assert await count(process) == ROWS
        assert time.monotonic() - began < 1.5
    assert not any(task.done() for task in away)
    assert await asyncio.gather(*away) == [(m.TIMEOUT,)] * 4


@needs_fork
async def test_the_queries_of_one_dataset_leave_room_for_those_of_others(process: WorkerProcess) -> None:
    other = m.Key(2)
    assert await process.ask(m.Bring(other, "urn:x:", False, 1, numbers()), 20) == (m.DONE,)
    away = [asyncio.create_task(ask(process, run(ENDLESS, seconds=4.0))) for _ in range(12)]
    await asyncio.sleep(0.3)
    began = time.monotonic()
    for _ in range(3):
        reply = await ask(process, replace(run(COUNT), key=other))
        assert reply[0] == m.ROWS
    assert time.monotonic() - began < 3
    assert not any(task.done() for task in away)
    for task in away:
        task.cancel()
    await asyncio.gather(*away, return_exceptions=True)


@needs_fork
async def test_more_queries_than_run_at_once_wait_and_keep_their_deadlines(process: WorkerProcess) -> None:
    began = time.monotonic()
    away = await asyncio.gather(*(ask(process, run(ENDLESS, seconds=1.0)) for _ in range(20)))
    assert set(away) == {(m.TIMEOUT,)}
    assert time.monotonic() - began < 1.6
    assert await count(process) == ROWS


# No way out -----------------------------------------------------------------------------------------------------------


@needs_fork
@requirement("ask.reads-only")
@pytest.mark.parametrize("silent", ["", "SILENT "])
async def test_nothing_leaves_the_machine_even_past_the_gate(process: WorkerProcess, silent: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        listener.setblocking(False)
        port = listener.getsockname()[1]
        text = f"SELECT * {{ SERVICE {silent}<http://127.0.0.1:{port}/> {{ ?s ?p ?o }} }}"
        reply = await ask(process, run(text, seconds=5))
        assert reply[0] == (m.ROWS if silent else m.REFUSED)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert await count(process) == ROWS


@pytest.mark.parametrize(
    "text", ["CONSTRUCT WHERE { ?s ?p ?o }", "DESCRIBE <urn:1>", "DROP ALL", "LOAD <file:///etc/hosts>"]
)
async def test_other_forms_are_refused_behind_the_gate_too(process: WorkerProcess, text: str) -> None:
    assert (await ask(process, run(text)))[0] == m.REFUSED
    assert await count(process) == ROWS


# Rows -----------------------------------------------------------------------------------------------------------------


async def test_rows_are_counted_and_handed_out_from_an_offset(process: WorkerProcess) -> None:
    query = m.Run(KEY, "SELECT ?s { ?s <urn:next> ?o } ORDER BY ?s", False, 2, 1, 250, "none", 5, lowest=1, now=1)
    _, seq, _, names, rows, total, complete, boolean = await ask(process, query)
    assert (seq, names, total, complete, boolean) == (1, ("s",), 250, False, None)
    assert rows == [(("uri", "urn:1"),), (("uri", "urn:10"),)]


async def test_an_answer_has_at_most_so_many_bytes(process: WorkerProcess) -> None:
    text = "SELECT * { ?a <urn:says> ?b . ?c <urn:says> ?d . ?e <urn:says> ?f }"
    query = m.Run(KEY, text, False, None, 0, 100_000, "none", 20, lowest=1, now=1)
    assert await ask(process, query) == (m.TOO_LARGE,)
    assert await count(process) == ROWS


@pytest.mark.parametrize(
    ("entailment", "expected"),
    [("none", {"urn:rex dog"}), ("subclass", {"urn:rex dog", "urn:rex pet", "urn:rex animal"})],
)
async def test_what_follows_is_seen_by_the_query_that_asks_for_it(
    process: WorkerProcess, entailment: str, expected: set[str]
) -> None:
    triples = [
        ("<urn:rex>", f"<{RDF}type>", "<urn:dog>"),
        ("<urn:dog>", f"<{RDFS}subClassOf>", "<urn:pet>"),
        ("<urn:pet>", f"<{RDFS}subClassOf>", "<urn:animal>"),
    ]
    await brought(process, triples)
    assert await types(process, entailment) == expected
    assert await types(process, "none") == {"urn:rex dog"}


async def test_rdfs_follows_domains_ranges_and_wider_properties(process: WorkerProcess) -> None:
    triples = [
        ("<urn:ada>", "<urn:leads>", "<urn:acme>"),
        ("<urn:leads>", f"<{RDFS}subPropertyOf>", "<urn:works>"),
        ("<urn:works>", f"<{RDFS}domain>", "<urn:person>"),
        ("<urn:works>", f"<{RDFS}range>", "<urn:firm>"),
        ("<urn:firm>", f"<{RDFS}subClassOf>", "<urn:party>"),
        ("<urn:ada>", "<urn:works>", '"much"'),
    ]
    await brought(process, triples)
    assert await types(process, "rdfs") == {"urn:ada person", "urn:acme firm", "urn:acme party"}
    assert await types(process, "none") == set()


async def brought(process: WorkerProcess, triples: list[tuple[str, str, str]]) -> None:
    quads = {n: QuadRow(*triple) for n, triple in enumerate(triples)}
    changes = Changes(1, 1, quads=quads, whole=True)
    await process.ask(m.Bring(KEY, "urn:x:", False, 1, changes), 5)


async def types(process: WorkerProcess, entailment: str) -> set[str]:
    """Which things are of which classes; where the view has to be brought again for it, it is."""
    reply = await ask(process, run("SELECT ?x ?c { ?x a ?c }", entailment=entailment))
    assert reply[0] == m.ROWS
    return {f"{x[1]} {c[1].removeprefix('urn:')}" for x, c in reply[4]}


async def test_a_view_that_can_not_be_brought_up_is_made_anew(process: WorkerProcess) -> None:
    broken = Changes(2, 2, quads={1: QuadRow("no term", "<urn:p>", "<urn:o>")})
    assert (await process.ask(m.Bring(KEY, "urn:x:", False, 1, broken), 5))[0] == m.FAILED
    assert await ask(process, run(COUNT)) == (m.MISSING,)
    await bring(process)
    assert await count(process) == ROWS


async def test_a_commit_comes_to_the_children_that_wait_too(process: WorkerProcess) -> None:
    for seq in range(2, 6):
        assert await count(process) == ROWS + seq - 2
        one = Changes(seq, seq, quads={-seq: QuadRow(f"<urn:new:{seq}>", "<urn:next>", "<urn:0>")})
        assert await process.ask(m.Bring(KEY, "urn:x:", False, 1, one), 5) == (m.DONE,)
    assert await count(process) == ROWS + 4


# Life and death -------------------------------------------------------------------------------------------------------


async def test_a_worker_that_was_killed_is_told_of_and_starts_anew(process: WorkerProcess) -> None:
    first = process.pid
    assert first
    away = asyncio.create_task(ask(process, run(ENDLESS)))
    await asyncio.sleep(0.2)
    children = psutil.Process(first).children()
    os.kill(first, signal.SIGKILL)
    with pytest.raises(Gone):
        await away
    if sys.platform == "linux":
        assert not psutil.wait_procs(children, timeout=5)[1]
    assert await ask(process, run(COUNT)) == (m.MISSING,)
    await bring(process)
    assert await count(process) == ROWS
    assert process.pid != first


@needs_fork
async def test_whoever_goes_away_stops_the_query(process: WorkerProcess) -> None:
    away = asyncio.create_task(ask(process, run(ENDLESS)))
    assert process.pid
    worker = psutil.Process(process.pid)
    while not worker.children():
        await asyncio.sleep(0.01)
    away.cancel()
    with pytest.raises(asyncio.CancelledError):
        await away
    async with asyncio.timeout(5):
        while worker.children():
            await asyncio.sleep(0.01)
    assert await count(process) == ROWS


@needs_fork
async def test_the_end_of_the_memory_is_the_end_of_worker_and_children(process: WorkerProcess) -> None:
    away = asyncio.create_task(ask(process, run(ENDLESS)))
    assert process.pid
    worker = psutil.Process(process.pid)
    while not (children := worker.children()):
        await asyncio.sleep(0.01)
    await asyncio.to_thread(process.close)
    assert not worker.is_running()
    assert not any(child.is_running() for child in children)
    with pytest.raises(Gone):
        await away
    with pytest.raises(QueriesUnavailable):
        await ask(process, run(COUNT))


SERVER = """
import asyncio, sys
from storage.rdf import messages as m
from storage.rdf.process import WorkerProcess

async def main():
    process = WorkerProcess()
    await process.ask(m.Held(1), 20)
    print(process.pid, flush=True)
    await process.ask(m.Parse("ASK {}", 60), 60)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@needs_fork
async def test_the_worker_dies_with_a_server_that_is_killed() -> None:
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, env=environ) as server:
        assert server.stdout
        worker = psutil.Process(int(await asyncio.to_thread(server.stdout.readline)))
        worker.send_signal(signal.SIGINT)
        await asyncio.sleep(0.2)
        assert worker.is_running()
        server.kill()
        async with asyncio.timeout(5):
            while worker.is_running() and worker.status() != psutil.STATUS_ZOMBIE:
                await asyncio.sleep(0.01)


async def test_without_fork_a_late_query_ends_the_worker_and_the_next_one_starts_it() -> None:
    process = WorkerProcess(forks=False)
    try:
        await bring(process)
        assert await count(process) == ROWS
        with pytest.raises(QueryTimeout):
            await ask(process, run(ENDLESS, seconds=0.5))
        assert await ask(process, run(COUNT)) == (m.MISSING,)
        await bring(process)
        assert await ask(process, run("ASK {}", entailment="rdfs")) != (m.MISSING,)
        assert await ask(process, run(COUNT)) == (m.MISSING,)  # what followed was written into the view
    finally:
        await asyncio.to_thread(process.close)
