"""No user reads another's graph, by its name, an IRI, a commit, a trace, a golden or a cursor: what another user has is
answered as what nobody has, by every operation of a graph, over REST and by the tool ask, with tokens and without."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from core.graphs.requests import GraphRequest
from gligabao_mcp.ask_tool import ACTIONS
from gligabao_mcp.graph_operations import GRAPH_OPERATIONS
from gligabao_mcp.operation import Operation
from tests.doors.strangers import FACT, MARK, TOLD, Caller, called
from tests.processes import served
from tests.scripted_messages import Script, Scripted, says, sparql
from tests.wire import Wire

ROWS = {operation.name: operation for operation in GRAPH_OPERATIONS}
EVERYTHING = "SELECT ?p ?o WHERE { ?s ?p ?o FILTER(isLiteral(?o)) } ORDER BY ?p ?o"
QUESTION = "What is there?"
DOCUMENT = '<https://quix.test/quixthing> <http://www.w3.org/2000/01/rdf-schema#label> "quixlabel" .'


@dataclass(frozen=True)
class Handles:
    """What a stranger may put into a request: what Ann has, or in its place what nobody has."""

    graph: str
    iri: str
    words: str
    trace: str
    golden: str
    embedding: str = "quixembedding"


NOBODYS = Handles("nobodys-graph", "https://nobody.test/thing", "Nobodyhere", "0" * 24, "f" * 24, "nobodysembedding")
Requests = Sequence[Mapping[str, Any]]
_NUMBERS = itertools.count()


def _reads(**fields: Any) -> Callable[[Handles], Requests]:
    """A read of one's own graph, and of the one whose name is known."""
    return lambda of: [fields, {**fields, "dataset": of.graph}]


# What is asked of each operation.
ASKED: Mapping[str, Callable[[Handles], Requests]] = {
    "ask": lambda of: [
        {"question": QUESTION},
        {"question": f"{QUESTION} {of.words}", "anchor": [of.iri], "context": of.words},
        {"question": QUESTION, "dataset": of.graph},
        {"question": QUESTION, "mode": "route", "include_grounding": True},
    ],
    "sparql": lambda of: [
        {"query": EVERYTHING},
        {"query": f"SELECT ?p ?o WHERE {{ <{of.iri}> ?p ?o }}"},
        {"query": EVERYTHING, "dataset": of.graph},
        {"query": EVERYTHING, "as_of_commit_seq": 1},
        {"query": EVERYTHING, "request": of.words},
    ],
    "compare": lambda of: [
        {"query": EVERYTHING, "before": {"as_of_commit_seq": 0}},
        {"query": EVERYTHING, "before": {"as_of_commit_seq": 0}, "dataset": of.graph},
    ],
    "names": lambda of: [{"text": of.words}, {"text": of.words, "dataset": of.graph}],
    "describe": lambda of: [{}, {"question": of.words}, {"classes": [of.iri]}, {"dataset": of.graph}],
    "profile": _reads(),
    "set_profile": lambda of: [
        {"notes": "Of Bob."},
        {"notes": "Of Bob.", "dataset": of.graph, "expected_version": 1},
        {"notes": "Of Bob.", "dataset": of.graph, "dry_run": True},
    ],
    "create_graph": _reads(),
    "import_rdf": lambda of: [
        {"content": b"<urn:b> <urn:c> <urn:d> .", "dataset": of.graph, "idempotency_key": "quix"}
    ],
    "update": lambda of: [{"update": b"INSERT DATA { <urn:b> <urn:c> <urn:d> }", "dataset": of.graph}],
    "delete_graph": lambda of: [{"dataset": of.graph, "confirm": of.graph}],
    "graphs": lambda _: [{}],
    "embeddings": lambda of: [{}, {"name": of.embedding}, {"dataset": of.graph}],
    "declare_embedding": lambda of: [{"class": of.iri}, {"class": of.iri, "dataset": of.graph}],
    "refresh_embedding": lambda of: [{"name": of.embedding}, {"name": of.embedding, "dataset": of.graph}],
    "delete_embedding": lambda of: [{"name": of.embedding, "confirm": of.embedding}],
    "search": lambda of: [{"text": of.words}, {"text": of.words, "embedding": of.embedding, "dataset": of.graph}],
    "commit_at": _reads(date="2999-01-01"),
    "graph_metadata": _reads(),
    "graph_summary": _reads(),
    "read_snapshot": _reads(),
    "publication_status": _reads(),
    "evals_summary": _reads(),
    "evals_traces": _reads(),
    "evals_trace": lambda of: [{"id": of.trace}, {"id": of.trace, "dataset": of.graph}],
    "evals_label": lambda of: [
        {"trace": of.trace, "valid": True},
        {"trace": of.trace, "dataset": of.graph, "valid": True},
    ],
    "evals_goldens": _reads(),
    "evals_create_golden": _reads(request="What?", sparql=EVERYTHING),
    "evals_accept_golden": lambda of: [{"id": of.golden}, {"id": of.golden, "dataset": of.graph}],
    "evals_delete_golden": lambda of: [{"id": of.golden}, {"id": of.golden, "dataset": of.graph}],
    "evals_run": _reads(),
    "evals_run_answers": lambda of: [{"answers": [{"golden": of.golden, "sparql": EVERYTHING}]}],
    "evals_results": _reads(runner="quixrunner"),
    "evals_settings": _reads(),
    "evals_set_settings": _reads(mode="advisory"),
    "evals_judge": lambda of: [{}, {"trace": of.trace}],
}
# What is asked of them is one thing, which the stranger has none of; and what needs more than this server has.
OF_ONE = {
    *("refresh_embedding", "delete_embedding", "delete_graph", "evals_trace", "evals_label", "evals_accept_golden"),
    *("declare_embedding", "search", "evals_judge"),
}
# By which mode of the tool each is called.
MODES: Mapping[str, Mapping[str, Any]] = {
    **{name: {"mode": name} for name in ("names", "describe", "commit_at", "compare", "sparql", "profile")},
    "ask": {"mode": "question"},
    "set_profile": {"mode": "profile"},
    **{f"evals_{action}": {"mode": "evals", "action": action} for action in ACTIONS},
}


def test_every_operation_of_a_graph_is_asked_here_and_says_whose_it_is() -> None:
    assert ASKED.keys() == ROWS.keys()
    for name, operation in ROWS.items():
        assert issubclass(operation.request, GraphRequest) or name == "graphs"


@dataclass(frozen=True)
class World:
    """A server with Ann's graphs, and what she got back."""

    home: Path
    http: httpx2.Client
    tokens: bool
    ann: Caller
    handles: Handles

    def stranger(self) -> Caller:
        """A user who was not there before, and told something of its own."""
        caller = called(self.home, self.http, f"bob{next(_NUMBERS)}", self.tokens)
        caller.tells("Bob lives in Bonn.", TOLD)
        return caller


@pytest.fixture(scope="module", params=[False, True], ids=["no tokens", "tokens"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    home, tokens = tmp_path_factory.mktemp("graphs"), request.param
    flags = ("--tools", "full", "--tokens", "on" if tokens else "off", "--rate-limit-per-minute", "0")
    with Wire() as wire:
        answered = says("There is something.")
        wire.always(Scripted(Script(QUESTION, [[sparql(EVERYTHING)]], answered)))
        model = {"GLIGABAO_LLM": "anthropic", "ANTHROPIC_BASE_URL": wire.url, "ANTHROPIC_API_KEY": "sk-test"}
        with served(home, *flags, **model) as (url, _), httpx2.Client(base_url=url, timeout=60) as http:
            ann = called(home, http, "ann", tokens)
            yield World(home, http, tokens, ann, _handles(ann))


def _handles(ann: Caller) -> Handles:
    """Tells Ann's secrets: in her memory, in a graph of triples, and in what is kept of questions about it."""
    entity = ann.tells("The quixpassword is quixbeta.", FACT).entities[0]
    ann.tells("Elsewhere quixgamma.", FACT, dataset="quixgraph")
    asks(ann, "import_rdf", content=DOCUMENT.encode(), dataset="quixgraph", idempotency_key="quix")
    asks(ann, "set_profile", notes="quixnotes", dataset="quixgraph")
    asks(ann, "set_profile", notes="quixnotes")
    trace = asks(ann, "sparql", query=EVERYTHING, request="quixquestion")["trace_id"]
    golden = asks(ann, "evals_label", trace=trace, valid=True)["golden"]["id"]
    asks(ann, "evals_run_answers", answers=[{"golden": golden, "sparql": EVERYTHING}], runner="quixrunner")
    return Handles("quixgraph", f"urn:gligabao:main:entity/{entity}", "Quixzelda", trace, golden)


def asks(caller: Caller, name: str, **fields: Any) -> dict[str, Any]:
    response = caller.rest(ROWS[name], fields)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize(("door", "name"), [*(("rest", name) for name in ROWS), *(("mcp", name) for name in MODES)])
def test_anothers_graph_is_answered_like_one_that_nobody_has(world: World, door: str, name: str) -> None:
    operation = ROWS[name]
    answers: list[list[str]] = []
    for handles in (world.handles, NOBODYS):
        caller = world.stranger()
        answers.append([_told(caller, door, operation, fields, handles) for fields in ASKED[name](handles)])
    assert answers[0] == answers[1]
    assert door == "mcp" or name in OF_ONE or answers[0][0].startswith("200"), "one's own graph is answered"
    assert MARK not in "".join(answers[0]).lower()


# What an answer says of the call and not of what is stored, and the numbers of rows, which differ from user to user.
_OF_THE_CALL = re.compile(r'"(\w*ms|\w+_at|ts|moment|request_id)":\s*("[^"]*"|[\d.]+|null),?')
_IDS = re.compile(r"\b[0-9a-f]{16,}\b|req_\w+|(?<=entity/)\d+|(?<=edge/)\d+|(?<=artifact/)\d+")


def _told(caller: Caller, door: str, operation: Operation[Any, Any], fields: Mapping[str, Any], of: Handles) -> str:
    """What an answer tells: without what was sent, who asked and when."""
    if door == "rest":
        response = caller.rest(operation, fields)
        answer = f"{response.status_code} {response.text}"
    else:
        arguments = {**MODES[operation.name], **fields}
        answer = json.dumps(caller.mcp("mcp, stateless era", "tools/call", {"name": "ask", "arguments": arguments}))
        answer = answer.replace('\\"', '"')
    for sent in sorted(astuple(of), key=len, reverse=True):
        answer = re.sub(rf"{re.escape(sent)}(?!\d)", "(sent)", answer)  # entity/1 is not the beginning of entity/12
    return _IDS.sub("(id)", _OF_THE_CALL.sub("", answer)).replace(caller.user, "(caller)")


def test_what_others_sent_has_changed_nothing_of_anns(world: World) -> None:
    """Last of this file."""
    ann, of = world.ann, world.handles
    assert asks(ann, "profile")["notes"] == asks(ann, "profile", dataset=of.graph)["notes"] == "quixnotes"
    assert [graph["graph_id"] for graph in asks(ann, "graphs")["data"]] == ["main", "quixgraph"]
    assert "quixlabel" in asks(ann, "sparql", query=EVERYTHING, dataset=of.graph)["results"]
    assert asks(ann, "evals_trace", id=of.trace)["request"] == "quixquestion"
    assert [golden["id"] for golden in asks(ann, "evals_goldens")["goldens"]] == [of.golden]
