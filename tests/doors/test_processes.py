"""Real processes, pipes and ports: both protocol eras, one memory behind two doors, and leaving when asked."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client, StdioServerParameters

from gligabao_mcp.serve import _listen  # pyright: ignore[reportPrivateUsage]
from tests.processes import COMMAND, ROOT, environment, served, stdio
from tests.requirements import requirement

EDGE = {"source": "Alice", "target": "Paris", "relation": "lives in"}
TOLD: dict[str, Any] = {"text": "Alice lives in Paris.", "edges": [EDGE]}


@pytest.mark.anyio
@requirement("overview.mcp-tools")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_one_session_over_stdio_http_and_rest_on_one_memory(
    tmp_path: Path, mode: Literal["legacy", "auto"]
) -> None:
    parameters = StdioServerParameters(command=COMMAND[0], args=[*COMMAND[1:], "stdio"], env=environment(tmp_path))
    with served(tmp_path) as (url, _):
        async with Client(parameters, mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["remember", "query"]
            told = await client.call_tool("remember", TOLD)
        session = told.structured_content["session_id"]
        assert told.structured_content["session_source"] == "process"

        question = {"query": "Where does Alice live?", "answer": False, "session_id": session}
        async with Client(f"{url}/v1/gb/mcp", mode=mode) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["remember", "query"]
            found = await client.call_tool("query", question)
        async with httpx2.AsyncClient(base_url=url) as http:
            plain = (await http.post("/v1/gb/query", json={"user_id": "local", **question})).json()
    for body in (found.structured_content, plain):
        assert body["session_id"] == session
        assert [edge["relation"] for edge in body["evidence"]["edges"]] == ["lives_in"]


@pytest.mark.anyio
@pytest.mark.parametrize("slash", ["", "/"])
async def test_the_mcp_endpoint_answers_without_a_redirect(tmp_path: Path, slash: str) -> None:
    with served(tmp_path) as (url, _):
        async with Client(f"{url}/v1/gb/mcp{slash}", mode="legacy") as client:
            told = await client.call_tool("remember", TOLD)
    assert told.structured_content["session_source"] == "connection"


@requirement("overview.example-answers")
def test_curl_as_in_the_documents(tmp_path: Path) -> None:
    """The seeds' own commands: no content type of JSON, `localhost`, the shape of the answer."""
    with served(tmp_path) as (url, _):
        told = _curl(f"{url}/v1/gb/remember", {"user_id": "u1", **TOLD})
        found = _curl(f"{url}/v1/gb/query", {"user_id": "u1", "query": "Where does Alice live?", "answer": False})
        refused = _curl(f"{url}/v1/gb/query", {"user_id": "u1", "query": "Where does Alice live?"})
    assert told.keys() == {
        *("remember_run_id", "artifact_id", "kind", "valid_at", "created_at", "reference_time_source"),
        *("entities", "edges", "invalidated_edges"),
    }
    assert [edge["relation"] for edge in found["evidence"]["edges"]] == ["lives_in"]
    assert "ANTHROPIC_API_KEY" in refused["error"]


def _curl(url: str, payload: dict[str, Any]) -> dict[str, Any]:
    headers = {"content-type": "application/x-www-form-urlencoded"}  # curl's own
    return httpx2.post(url.replace("127.0.0.1", "localhost"), content=json.dumps(payload), headers=headers).json()


# A library that counts tokens, is imported during a call and talks in every way that there is.
@pytest.mark.anyio
async def test_answers_over_http_are_sent_at_once() -> None:
    """With Nagle's algorithm each would wait 40 ms until its client has acknowledged the head."""
    seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    class Connection(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted: socket.socket = transport.get_extra_info("socket")
            seen.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))

    listening = _listen("127.0.0.1", 0)
    async with await asyncio.get_running_loop().create_server(Connection, sock=listening):
        _, writer = await asyncio.open_connection(*listening.getsockname())
        assert await seen
        writer.close()
        await writer.wait_closed()


TALKATIVE = """
import os, subprocess, sys
print("hello from print")
os.write(1, b"hello from the descriptor\\n")
subprocess.run([sys.executable, "-c", "print('hello from a child')"], check=True)
batch_count = lambda texts, *_: [len(text.split()) for text in texts]
"""


def test_stdout_holds_nothing_but_messages(tmp_path: Path) -> None:
    """C088: stdout belongs to the protocol."""
    plug_in = tmp_path / "plug-in"
    plug_in.mkdir()
    (plug_in / "toktok.py").write_text(TALKATIVE, encoding="utf-8")
    path = os.pathsep.join([str(plug_in), str(ROOT)])
    with stdio(tmp_path, "--log-level", "debug", PYTHONWARNINGS="always", PYTHONPATH=path) as server:
        server.initialize()
        text = "Alice lives in Paris. " * 300
        assert server.call("remember", **TOLD | {"text": text})["artifact_id"] == 1
        assert server.close() == 0
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in server.lines)
        said = b"".join(server.errors).decode()
        assert said.count("hello from") == 3, "it went to stderr, as the log did"


def test_text_is_utf_8_whatever_the_locale(tmp_path: Path) -> None:
    """C089: whatever the code page."""
    name = "Đặng ở Huế \U0001f389"
    with stdio(tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", PYTHONIOENCODING="ascii") as server:
        server.initialize()
        message = {"name": "remember", "arguments": {"text": f"{name} is here.", "edges": [EDGE | {"source": name}]}}
        request = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": message}
        server.write(json.dumps(request, ensure_ascii=False).encode())
        assert server.receive()["result"]["structuredContent"]["edges"][0]["source"] == name
        assert server.close() == 0


def test_every_line_gets_an_answer_even_one_that_cannot_be_read(tmp_path: Path) -> None:
    with stdio(tmp_path) as server:
        server.initialize()
        server.write(b"hello")
        assert server.receive()["error"]["code"] == -32700
        server.write(b'{"jsonrpc": "1.0", "id": 7}')
        refused = server.receive()
        assert (refused["error"]["code"], refused["id"]) == (-32600, 7)
        cut = json.dumps({"name": "remember", "arguments": TOLD}).replace("Alice lives", r"caf\ud83d lives")
        server.write(b'{"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": ' + cut.encode() + b"}")
        assert server.receive()["result"]["structuredContent"]["artifact_id"] == 1
        server.write(b'{"jsonrpc": "2.0", "id": 9, "method": "ping", "params": {"x": "\xff\xfe"}}')
        assert server.receive()["result"] == {}
        assert server.ask("tools/call", {"name": "nope"})["error"]["code"] == -32602


@pytest.mark.parametrize("during_a_call", [False, True], ids=["idle", "during a call"])
@pytest.mark.parametrize("how", ["end of stdin", "SIGTERM", "SIGINT", "SIGHUP"])
def test_a_process_leaves_within_five_seconds_and_closes_its_memory(
    tmp_path: Path, how: str, during_a_call: bool
) -> None:
    with stdio(tmp_path) as server:
        server.initialize()
        assert server.call("remember", **TOLD)["artifact_id"] == 1
        if during_a_call:
            server.send("tools/call", {"name": "remember", "arguments": TOLD}, 2)
        begun = time.monotonic()
        if how == "end of stdin":
            code = server.close()
        else:
            server.process.send_signal(signal.Signals[how])
            code = server.ended()
        assert time.monotonic() - begun < 5
        assert code == 0, b"".join(server.errors).decode()
        assert not list(tmp_path.glob("*.db-wal")), "the database was closed"


@pytest.mark.anyio
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
async def test_a_server_leaves_although_a_client_listens(tmp_path: Path, how: signal.Signals) -> None:
    with served(tmp_path) as (url, process):
        async with Client(f"{url}/v1/gb/mcp", mode="legacy") as client:
            await client.call_tool("remember", TOLD)
            process.send_signal(how)
            begun = time.monotonic()
            assert await _exit_code(process) == 0
            assert time.monotonic() - begun < 8


async def _exit_code(process: subprocess.Popen[bytes]) -> int:
    import anyio.to_thread

    return await anyio.to_thread.run_sync(process.wait)


def test_a_port_that_is_taken_is_a_sentence(tmp_path: Path) -> None:
    with served(tmp_path) as (url, _):
        command = [*COMMAND, "serve", "--port", url.rsplit(":", 1)[1]]
        second = subprocess.run(
            command, env=environment(tmp_path), capture_output=True, text=True, timeout=30, check=False
        )
    assert second.returncode == 2
    assert second.stderr.startswith("gligabao: can't listen on 127.0.0.1:")


HEAVY = ("lancedb", "pyarrow", "sqlalchemy", "anthropic", "openai", "spacy", "onnxruntime", "numpy")
START = """
import sys
import gligabao_mcp, gligabao_mcp.cli, gligabao_mcp.stdio, gligabao_mcp.stdio_transport, gligabao_mcp.mcp_door.server
from gligabao_mcp.conversation import Launch
from gligabao_mcp.settings import load
gligabao_mcp.mcp_door.server.create_mcp_server(None, load({}, {}).config, Launch())
gligabao_mcp.mcp_door.tools.tools()
print(sorted(set(sys.modules) & set(sys.argv[1:])))
"""


def test_a_start_up_to_the_tool_list_imports_nothing_heavy(tmp_path: Path) -> None:
    command = [sys.executable, "-c", START, *HEAVY]
    shown = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert (shown.stdout.strip(), shown.stderr) == ("[]", "")


def test_the_example_for_clients_starts_what_it_says(tmp_path: Path) -> None:
    servers = json.loads((ROOT / "mcp.json.example").read_text(encoding="utf-8"))["mcpServers"]
    launched = servers["gligabao"]
    assert launched["args"][-2:] == ["gligabao-mcp", "stdio"], "the command after uvx's own arguments"
    with stdio(tmp_path, **launched["env"]) as server:
        server.initialize()
        assert len(server.ask("tools/list")["result"]["tools"]) == 2
    assert servers["gligabao-http"]["url"] == "http://127.0.0.1:7878/v1/gb/mcp"
