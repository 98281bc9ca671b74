"""gligabao demo: a small story remembered and asked about, with no key and no network."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from textwrap import fill, indent
from typing import Any

import click

from core.config import Config
from core.core import Core
from core.query.query import QueryRequest, query
from core.remember.remember import remember
from core.remember.request import RememberRequest
from gligabao_mcp.report import fact

USER = "demo"
_HEAD = re.compile(r"# (?P<session>\S+), (?P<time>\S+)")

# What is asked, what it shows, and the time that it is read at.
QUESTIONS: tuple[tuple[str, str, str | None], ...] = (
    ("Where does Maya work?", "now: the newer job, not the one that ended", None),
    ("Where did Maya work in March 2026?", "the past: the job that ended is closed, never deleted", None),
    ("Where does Maya live?", '"yesterday" was resolved against the day of the message', None),
    ("Where does Maya live?", "the same question, as of 1 June 2026", "2026-06-01"),
    ("What did we choose for the gateway?", "a whole sentence, found by its meaning", None),
    ("Who is Maya's manager?", "one fact of many", None),
    ("What is the wifi password?", "never told: an answer may be that there is none", None),
)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the story: the session it belongs to and when it was written."""

    session_id: str
    reference_time: datetime
    text: str


def story() -> Iterator[Message]:
    """The messages of the story file, a head line and a text each."""
    text = files("gligabao_mcp").joinpath("demo_story.txt").read_text("utf-8")
    for block in text.strip().split("\n\n"):
        head, _, body = block.partition("\n")
        match = _HEAD.fullmatch(head)
        assert match is not None, head
        yield Message(match["session"], datetime.fromisoformat(match["time"]), body)


Say = Callable[..., None]


def run(config: Config, say: Say = click.echo) -> dict[str, list[dict[str, Any]]]:
    """Tells the story to the embedded engine in a folder of its own, asks the questions, and shows how to go on.

    `say` gets every line for a person; what comes back are the responses.
    """
    with tempfile.TemporaryDirectory(prefix="gligabao-demo-") as folder:
        chosen = {"home": Path(folder), "db": None, "vectors": None, "llm": "local", "embedder": "auto"}
        played = asyncio.run(_play(config.model_copy(update=chosen), say))
    say(NEXT_STEPS)
    return played


async def _play(config: Config, say: Say) -> dict[str, list[dict[str, Any]]]:
    from gligabao_mcp.wiring import open_core

    async with open_core(config) as core:
        say(_title("Telling it a story: three messages in two conversations"))
        told = [await _tell(core, message, say) for message in story()]
        say(_title("Asking about it"))
        asked = [await _ask(core, question, shows, as_of, say) for question, shows, as_of in QUESTIONS]
    return {"remember": told, "query": asked}


async def _tell(core: Core, message: Message, say: Say) -> dict[str, Any]:
    say(f"{message.reference_time:%d %B %Y}, conversation {message.session_id}")
    say(indent(message.text, "  > "))
    request = RememberRequest(
        user_id=USER, text=message.text, session_id=message.session_id, reference_time=message.reference_time
    )
    body = (await remember(core, request)).body()
    known = [edge for edge in body["edges"] if edge["artifact_id"] != body["artifact_id"]]
    closed = body["invalidated_edges"]
    counts = [_count(len(body["edges"]) - len(known), "new fact")]
    counts += [f"{len(known)} known already"] if known else []
    counts += [f"{_count(len(closed), 'older fact')} closed by it"] if closed else []
    say(f"  {', '.join(counts)}\n")
    return body


async def _ask(core: Core, question: str, shows: str, as_of: str | None, say: Say) -> dict[str, Any]:
    request = QueryRequest.model_validate({"user_id": USER, "query": question, "as_of": as_of})
    body = (await query(core, request)).body()
    say(f"{click.style(question, bold=True)}  ({shows})")
    say(fill(body["answer"], 100, initial_indent="  ", subsequent_indent="  "))
    for edge in body["evidence"]["edges"]:
        say(f"    evidence {fact(edge)}")
    say()
    return {"query": question, **body}


def _title(text: str) -> str:
    return f"{click.style(text, bold=True)}\n{'-' * len(text)}\n"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


NEXT_STEPS = """\
Going on
--------

This story lay in a temporary folder and is gone. To keep a memory of your own, still without any key:

Claude Code (or Claude Desktop, Cursor, VS Code, Codex; --dry-run shows what it writes)
  .venv/bin/gligabao install claude-code --llm local        # or claude-desktop, cursor, vscode, codex

Any other client that takes mcp.json
  {"mcpServers": {"gligabao": {"command": "uvx", "args": ["--from", "gligabao-mcp[local]", "gligabao-mcp", "stdio"],
                               "env": {"GLIGABAO_LLM": "local"}}}}

curl
  .venv/bin/gligabao serve --llm local &
  curl -s localhost:7878/v1/gb/remember -d '{"user_id":"local","text":"Alice works at Acme and lives in Paris."}'
  curl -s localhost:7878/v1/gb/query    -d '{"user_id":"local","query":"Where does Alice work?"}'

With a key (ANTHROPIC_API_KEY) or a local model server (--llm openai --llm-base-url ...) any text in any language
becomes typed facts; README says how.
"""
