"""Users at the doors of one server: one who told secrets, and others who try to learn them."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2

from core.config import Config
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import OPERATIONS, TOOLS_ALONE
from tests.bearer import made

MARK = "quix"
"""In everything that Ann told, and in nothing else."""
FACT = {
    "source": "Quixzelda",
    "target": "Quixburg",
    "relation": "quixhides_in",
    "description": "Quixzelda hides the quixpassword in Quixburg.",
}
MANY = [{**FACT, "target": f"Quixtown {n}"} for n in range(25)]

EVERY: tuple[Operation[Any, Any], ...] = (*OPERATIONS, *TOOLS_ALONE)
"""The operations of the memory; those of graphs have tests of their own."""
TOLD = {"source": "Bob", "target": "Bonn", "relation": "lives in"}


@dataclass(frozen=True)
class Owner:
    """What a user got back when it told something."""

    artifact: int
    entities: tuple[int, int]
    edge: int
    run: int
    session: str


@dataclass
class Caller:
    """A user at the doors of one server."""

    http: httpx2.Client
    user: str
    token: Mapping[str, str]
    """The header that shows it; empty where none is asked for."""
    sessions: dict[str, str] = field(default_factory=dict[str, str])

    def rest(self, operation: Operation[Any, Any], fields: Mapping[str, Any]) -> httpx2.Response:
        """The operation over REST; without a token the request says who asks."""
        said = dict(fields) if self.token else {"user_id": self.user, **fields}
        if operation.of_graph:
            return self._of_graph(operation, said)
        path = operation.path
        for name in operation.path_fields:
            path = path.replace(f"{{{name}}}", quote(str(said.pop(name)), safe=""))
        if operation.method == "POST":
            return self.http.post(path, json=said, headers=self.token)
        query = {name: json.dumps(value) if isinstance(value, bool) else value for name, value in said.items()}
        return self.http.get(path, params=query, headers=self.token)

    def _of_graph(self, operation: Operation[Any, Any], said: dict[str, Any]) -> httpx2.Response:
        where = {name: said.pop(name) for name in ("dataset", "user_id") if name in said}
        url: dict[str, Any] = {"graph" if name == "dataset" else name: value for name, value in where.items()}
        if operation.body_field:
            content = said.pop(operation.body_field)
            return self.http.post(operation.path, params=url | said, content=content, headers=self.token)
        if operation.method in ("GET", "DELETE"):
            return self.http.request(operation.method, operation.path, params=url | said, headers=self.token)
        return self.http.request(operation.method, operation.path, params=url, json=said, headers=self.token)

    def mcp(self, door: str, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result or the error of a request over MCP; without a token a header says who asks."""
        whose = self.token or {"gligabao-user-id": self.user}
        headers = {"accept": "application/json, text/event-stream", **whose}
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params)}
        if "handshake" in door:
            headers["mcp-session-id"] = self._opened(headers)
            headers["mcp-protocol-version"] = "2025-11-25"
        else:
            headers |= {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
            headers["mcp-name"] = str(params.get("name") or params.get("uri") or "")
            said = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
            body["params"]["_meta"] = {**said, "io.modelcontextprotocol/clientCapabilities": {}}
        answer = self.http.post("/v1/gb/mcp", json=body, headers=headers)
        assert answer.status_code in (200, 400, 404), answer.text
        return _message(answer)

    def _opened(self, headers: Mapping[str, str]) -> str:
        if "mcp" not in self.sessions:
            client = {"name": "test", "version": "1"}
            params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
            body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
            answer = self.http.post("/v1/gb/mcp", json=body, headers=headers)
            self.sessions["mcp"] = answer.headers["mcp-session-id"]
        return self.sessions["mcp"]

    def send(self, door: str, operation: Operation[Any, Any], fields: Mapping[str, Any]) -> str:
        """The whole answer, as text."""
        if door == "rest":
            response = self.rest(operation, fields)
            return f"{response.status_code} {response.text}"
        return json.dumps(self.mcp(door, "tools/call", {"name": operation.name, "arguments": dict(fields)}))

    def asks(self, name: str, **fields: Any) -> dict[str, Any]:
        """The response body over REST."""
        response = self.rest(row(name), fields)
        assert response.status_code == 200, response.text
        return response.json()

    def cursors(self, session_id: str) -> dict[str, str]:
        """Where the second page of each list of the user begins, by the name of its operation."""
        found: dict[str, str] = {}
        for operation in (one for one in EVERY if one.method == "GET" and "cursor" in one.request.model_fields):
            which = {"session_id": session_id} if operation.path_fields else {}
            page = self.asks(operation.name, limit=1, **which)
            found |= {operation.name: page["next_cursor"]} if "next_cursor" in page else {}
        return found

    def tells(self, text: str, *facts: Mapping[str, Any], **more: Any) -> Owner:
        """What the user got back when it told a text with these facts."""
        told = self.asks("remember", text=text, edges=list(facts), **more)
        fact, session = told["edges"][0], told.get("session_id", "")
        return Owner(
            told["artifact_id"], (fact["source_id"], fact["target_id"]), fact["id"], told["remember_run_id"], session
        )


def _message(answer: httpx2.Response) -> dict[str, Any]:
    if answer.headers["content-type"].startswith("text/event-stream"):
        (data,) = (line[5:] for line in answer.text.splitlines() if line.startswith("data:") and line[5:].strip())
        return json.loads(data)
    return answer.json()


def row(name: str) -> Operation[Any, Any]:
    """The operation of that name."""
    return next(operation for operation in EVERY if operation.name == name)


@dataclass(frozen=True)
class Ann:
    """Who told the secrets, and what a stranger could have learned of their handles."""

    owner: Owner
    dataset: str
    tombstone: int
    confirm: str
    cursors: Mapping[str, str]

    @classmethod
    def at(cls, caller: Caller) -> Ann:
        """Tells them."""
        owner = caller.tells("The quixpassword is quixbeta.", FACT, session_id="quixsession", idempotency_key="quixkey")
        for number in range(2):
            caller.tells(f"Quixtext {number}.", FACT, session_id=f"quixsession {number}")
        caller.tells("Elsewhere quixgamma.", FACT, dataset="quixdata", session_id="quixsession")
        gone = {"scope": "artifact", "id": caller.tells("Quixtowns.", *MANY).artifact}
        confirm = caller.asks("forget", **gone, dry_run=True)["confirm"]
        tombstone = caller.asks("forget", **gone, confirm=confirm)["tombstone_id"]
        kept = {"scope": "artifact", "id": caller.tells("Quixtowns again.", *MANY).artifact}
        confirm = caller.asks("forget", **kept, dry_run=True)["confirm"]
        return cls(owner, "quixdata", tombstone, confirm, caller.cursors("quixsession"))


@dataclass(frozen=True)
class World:
    """A server on a memory in which Ann told her secrets, and Bob something of his own."""

    home: Path
    http: httpx2.Client
    tokens: bool
    ann: Ann
    bob: Caller
    bobs: Owner

    def newcomer(self) -> tuple[Caller, Owner]:
        """A user like Bob."""
        return newcomer(self.home, self.http, self.tokens)


_NUMBERS = itertools.count()


def newcomer(home: Path, http: httpx2.Client, tokens: bool) -> tuple[Caller, Owner]:
    """A user who was not there before, and what it told."""
    caller = called(home, http, f"bob{next(_NUMBERS)}", tokens)
    return caller, caller.tells("Bob lives in Bonn.", TOLD, session_id="own-talk")


def called(home: Path, http: httpx2.Client, user: str, tokens: bool) -> Caller:
    """A user, who shows a token of its own where they are asked for."""
    return Caller(http, user, asyncio.run(made(Config(home=home), user)) if tokens else {})
