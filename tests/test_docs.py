"""What the documents say is so: their examples run, their paths are there, the demo needs no network."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

import gligabao_mcp
from gligabao_mcp.demo import QUESTIONS, story
from tests.processes import environment

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")

# No connection leaves the process and no name is looked up: what would try fails the demo.
WITHOUT_NETWORK = """
import socket, sys

def refuse(*args, **kwargs):
    raise OSError("the demo went to the network")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refuse
from gligabao_mcp.cli import cli
cli(["demo"])
"""


def run(code: str, home: Path, **more: str) -> str:
    """What the code printed in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(home, **more),
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_demo_needs_no_network_and_shows_what_holds_and_what_held(tmp_path: Path) -> None:
    said = run(WITHOUT_NETWORK, tmp_path)
    assert {message.session_id for message in story()} == {"chat-1", "chat-2"}
    answers = dict(re.findall(r"^(\S.*\?)  \(.*\)\n  (.*)$", said, re.MULTILINE))
    assert answers.keys() == {question for question, _, _ in QUESTIONS}
    assert "Solara" in answers["Where does Maya work?"]
    assert "Brightwater" in answers["Where did Maya work in March 2026?"]
    assert "FastAPI" in answers["What did we choose for the gateway?"]
    assert answers["What is the wifi password?"].startswith("I don't know")
    assert re.search(r"evidence .*Maya lives in Zurich .*superseded", said), "the superseded fact is shown"
    assert "1 known already" in said and "older facts closed" in said
    assert all(client in said for client in ("Claude Desktop", "Claude Code", "curl"))
    assert not any(tmp_path.iterdir()), "the demo leaves the user's own memory alone"


def test_the_python_example_of_the_readme_runs(tmp_path: Path) -> None:
    block = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert block is not None
    imports, _, body = block[1].partition("\n\n")
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    home = f"Config(home=__import__('pathlib').Path({str(tmp_path)!r}), "
    code = f"import asyncio\n{imports}\nasync def main():\n{lines}\nasyncio.run(main())"
    assert "Acme" in run(code.replace('Config(llm="local")', f'{home}llm="local")'), tmp_path)


@pytest.mark.anyio
async def test_the_example_configuration_starts_a_server(tmp_path: Path) -> None:
    entries = json.loads((ROOT / "mcp.json.example").read_text("utf-8"))["mcpServers"]
    entry = entries["gligabao"]
    # What uvx would install is what runs here: the command it ends with, and its environment.
    arguments = entry["args"][entry["args"].index("gligabao-mcp") + 1 :]
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gligabao_mcp", *arguments],
        env=environment(tmp_path, **entry["env"]),
    )
    async with Client(server) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["remember", "query"]
    assert entries["gligabao-http"]["url"].endswith("/v1/gb/mcp")


def test_the_names_of_the_package_are_there() -> None:
    for name in gligabao_mcp.__all__:
        assert getattr(gligabao_mcp, name) is not None
    with pytest.raises(AttributeError):
        _ = gligabao_mcp.nothing  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]


@pytest.mark.parametrize(
    "document",
    ["README.md", "CONTRIBUTING.md", *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/*.md"))],
)
def test_every_path_that_a_document_names_is_there(document: str) -> None:
    text = (ROOT / document).read_text("utf-8")
    named = re.findall(r"`((?:core|storage|gligabao_mcp|tests|docs|benchmarks)/[\w./]*)`", text)
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_two_commands_stand_at_the_top_of_the_readme() -> None:
    commands = re.findall(r"^    (make \w+)", README, re.MULTILINE)
    assert commands[:2] == ["make demo", "make test"]
    assert "python -m benchmarks.extraction" in README, "the numbers of the embedded engine come with their command"
    assert "make test" in (ROOT / ".ci" / "run").read_text("utf-8")
