"""Processes that come and go: out when asked or left alone, with nothing lost, and nobody in the way meanwhile."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import struct
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest

from core.config import Config
from tests import wire as api
from tests.processes import PATIENCE, Served, Stdio, asking, served, stdio
from tests.wire import Slow, Wire

EDGE = {"source": "Alice", "target": "Paris", "relation": "lives in"}
TOLD: dict[str, Any] = {"text": "Alice lives in Paris.", "edges": [EDGE]}
NOTHING = api.chat(json.dumps({"entities": [], "edges": []}))

# A host that starts the server, and dies without closing the pipes: the test holds their other ends.
HOST = (sys.executable, "-c", "import subprocess, sys; subprocess.run(sys.argv[1:], check=False)")
WAYS = ["end of stdin", "SIGTERM", "SIGINT", "SIGHUP", "death of the parent"]

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals, and parents that are told of")


def host_of(how: str) -> tuple[str, ...]:
    return HOST if how == "death of the parent" else ()


def left(server: Stdio, how: str) -> float:
    """Makes the process leave; the seconds until it had closed its pipes."""
    begun = time.monotonic()
    if how == "end of stdin":
        server.close()
    else:
        server.process.send_signal(signal.SIGKILL if how == "death of the parent" else signal.Signals[how])
        server.ended()
    return time.monotonic() - begun


@posix
@pytest.mark.parametrize("how", WAYS)
def test_an_idle_process_leaves_at_once_and_closes_its_memory(tmp_path: Path, how: str) -> None:
    """C100: processes that stay."""
    with stdio(tmp_path, parent=host_of(how)) as server:
        server.initialize()
        assert server.call("remember", **TOLD)["artifact_id"] == 1
        assert left(server, how) < 5
    assert not list(tmp_path.glob("*.db-wal")), "the database was closed"


@posix
@pytest.mark.parametrize("how", WAYS)
def test_a_text_that_is_read_when_its_process_leaves_is_ended_by_the_next(
    settings: Config, wire: Wire, how: str
) -> None:
    """C100: during a running call; and nothing is lost."""
    assert settings.home is not None
    slow = Slow(NOTHING)
    wire.says(slow)
    wire.always(NOTHING)
    more = asking(settings.llm_base_url, GLIGABAO_TOOLS="full")
    with stdio(settings.home, parent=host_of(how), **more) as server:
        server.initialize()
        server.send("tools/call", {"name": "remember", "arguments": {"text": "Alice lives in Paris."}}, 2)
        assert slow.asked.wait(PATIENCE)
        assert left(server, how) < 2 * 5
    with stdio(settings.home, **more) as server:
        server.initialize()
        until(lambda: server.call("remember_status", remember_run_id=1)["state"] not in ("queued", "running"))
        run = server.call("remember_status", remember_run_id=1)
        assert (run["state"], run["artifact_id"]) == ("succeeded", 1)
        assert server.close() == 0


@posix
def test_a_process_that_is_written_to_while_it_leaves_says_nothing(tmp_path: Path) -> None:
    with stdio(tmp_path) as server:
        server.initialize()
        for number in range(2, 12):
            server.send("ping", {}, number)
        left(server, "SIGTERM")
        assert server.errors == []


def test_an_idle_process_is_in_nobodys_way(tmp_path: Path) -> None:
    """C100: idle orphans hold no write lock."""
    with stdio(tmp_path) as server, served(tmp_path) as (url, _):
        server.initialize()
        assert server.call("remember", **TOLD)["artifact_id"] == 1
        assert httpx2.post(f"{url}/v1/gb/remember", json={"user_id": "local", **TOLD}).json()["artifact_id"] == 2
        with closing(sqlite3.connect(tmp_path / "gligabao.db", timeout=PATIENCE, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("ROLLBACK")
        assert server.close() == 0


@posix
def test_a_server_leaves_when_its_terminal_is_closed(tmp_path: Path) -> None:
    with served(tmp_path) as (url, process):
        assert httpx2.post(f"{url}/v1/gb/remember", json={"user_id": "local", **TOLD}).json()["artifact_id"] == 1
        process.send_signal(signal.SIGHUP)
        assert process.wait(PATIENCE) == 0
    assert not list(tmp_path.glob("*.db-wal")), "the database was closed"


@posix
def test_a_server_that_leaves_ends_the_text_of_a_client_that_it_could_not_wait_for(
    settings: Config, wire: Wire
) -> None:
    home = settings.home
    assert home is not None
    slow = Slow(NOTHING)
    wire.says(slow)
    with served(home, **asking(settings.llm_base_url)) as (url, process), ThreadPoolExecutor(1) as client:
        told = client.submit(httpx2.post, f"{url}/v1/gb/remember", json={"user_id": "u1", "text": "A."}, timeout=60)
        assert slow.asked.wait(PATIENCE)
        process.send_signal(signal.SIGTERM)
        until(lambda: rows(home, "SELECT count(*) FROM gb_jobs WHERE request IS NOT NULL") == [(1,)])
        slow.let()
        assert process.wait(PATIENCE) == 0
        assert told.exception() is not None or told.result().is_error
    assert rows(home, "SELECT status, artifact_id FROM gb_remember_runs") == [("succeeded", 1)]


@posix
def test_who_waits_longer_than_the_server_is_told_that_it_leaves_and_the_log_is_quiet(
    settings: Config, wire: Wire
) -> None:
    assert settings.home is not None
    slow = Slow(NOTHING)
    wire.says(slow)
    with (
        served(settings.home, **asking(settings.llm_base_url)) as (url, process),
        ThreadPoolExecutor(1) as client,
    ):
        told = client.submit(httpx2.post, f"{url}/v1/gb/remember", json={"user_id": "u1", "text": "A."}, timeout=60)
        assert slow.asked.wait(PATIENCE)
        listening = listen(url)
        process.send_signal(signal.SIGTERM)
        answer = told.result(PATIENCE)
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        assert answer.json() == {"error": "server is shutting down", "code": "shutting_down"}
        slow.let()
        assert process.wait(PATIENCE) == 0
        listening.close()
    assert rows(settings.home, "SELECT status, artifact_id FROM gb_remember_runs") == [("succeeded", 1)]
    assert complaints(process) == []


def listen(url: str) -> socket.socket:
    """A client of the handshake era, on the stream that the server keeps open for it."""
    request = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": request}
    accept = {"accept": "application/json, text/event-stream"}
    session = httpx2.post(f"{url}/v1/gb/mcp", json=body, headers=accept).headers["mcp-session-id"]
    stream = send(url, f"GET /v1/gb/mcp HTTP/1.1\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n\r\n")
    assert stream.recv(1_000).startswith(b"HTTP/1.1 200")
    return stream


def send(url: str, request: str) -> socket.socket:
    """A connection over which this is sent, for this host."""
    host, _, port = url.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)), timeout=PATIENCE)
    connection.sendall(request.replace("\r\n", f"\r\nHost: {host}:{port}\r\n", 1).encode())
    return connection


def complaints(process: Served) -> list[str]:
    return [line for line in process.said if "ERROR" in line or "Traceback" in line]


@pytest.mark.parametrize("path", ["/v1/gb/remember", "/v1/gb/import", "/v1/gb/mcp"])
def test_a_client_that_goes_in_the_middle_of_its_request_is_no_error_of_the_server(tmp_path: Path, path: str) -> None:
    with served(tmp_path) as (url, process):
        gone = send(url, f"POST {path} HTTP/1.1\r\nContent-Length: 100\r\n\r\n{{")
        until(lambda: httpx2.get(f"{url}/readyz").is_success)
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # a reset
        gone.close()
        listening = listen(url)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        listening.close()
        until(lambda: httpx2.get(f"{url}/readyz").is_success)
    assert complaints(process) == []


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def rows(home: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(home / "gligabao.db", timeout=PATIENCE)) as connection:
        return connection.execute(sql).fetchall()


# Runs the server in this very process, where nothing but this machine can be reached.
CUT_OFF = """
import ipaddress, runpy, socket, sys
connect = socket.socket.connect
def to_loopback_only(self, address):
    if not ipaddress.ip_address(address[0]).is_loopback:
        raise OSError("no network in this test")
    return connect(self, address)
socket.socket.connect = to_loopback_only
sys.argv[1:] = sys.argv[4:]
runpy.run_module("gligabao_mcp", run_name="__main__")
"""


def test_the_first_text_after_a_cold_start_waits_for_no_download(settings: Config, wire: Wire) -> None:
    """C091: the first write is the slow one."""
    assert settings.home is not None
    wire.says(NOTHING)
    empty = {name: str(settings.home / "empty") for name in ("HOME", "XDG_CACHE_HOME", "HF_HOME")}
    with stdio(
        settings.home, parent=(sys.executable, "-c", CUT_OFF), **asking(settings.llm_base_url, **empty)
    ) as server:
        server.initialize()
        assert server.call("remember", text="Alice lives in Paris.")["artifact_id"] == 1
        assert server.close() == 0
