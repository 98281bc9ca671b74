"""No user reads another's memory, by whatever id, name, session, cursor, run, key, tombstone or URI: what another user
has is answered to the byte as what nobody has, by every operation, over REST and MCP, with tokens and without."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import httpx2
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from core.errors import InvalidRequest
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import parse
from tests.doors.strangers import EVERY, MARK, TOLD, Ann, Owner, World, called, newcomer, row
from tests.processes import served
from tests.wire import Wire, chat

NOBODYS = 7_000_001
"""The id of no row."""
DOORS = ("rest", "mcp, handshake era", "mcp, stateless era")
CASES = [
    (door, operation)
    for operation in EVERY
    for door in DOORS
    if (operation.path if door == "rest" else operation.tool) and not operation.admin
]


# What a stranger may know ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """A handle of Ann's, one of the same kind that nobody has, and one of the caller's own."""

    anns: Any
    nobodys: Any
    own: Any


# The fields that name something stored, by what a stranger would put there.
HANDLES: Mapping[str, Callable[[Ann, Owner, Mapping[str, Any]], Known]] = {
    "dataset": lambda ann, own, _: Known(ann.dataset, "nobodys-data", "main"),
    "session_id": lambda ann, own, _: Known(ann.owner.session, "nobodys-talk", own.session),
    "in_session": lambda ann, own, _: Known(ann.owner.session, "nobodys-talk", own.session),
    "idempotency_key": lambda ann, own, _: Known("quixkey", "nobodys-key", "own-key"),
    "remember_run_id": lambda ann, own, _: Known(ann.owner.run, NOBODYS, own.run),
    "run_id": lambda ann, own, _: Known(ann.owner.run, NOBODYS, own.run),
    "artifact_id": lambda ann, own, _: Known(ann.owner.artifact, NOBODYS, own.artifact),
    "parent_id": lambda ann, own, _: Known(ann.owner.artifact, NOBODYS, own.artifact),
    "entity_id": lambda ann, own, _: Known(ann.owner.entities[0], NOBODYS, own.entities[0]),
    "into": lambda ann, own, _: Known(ann.owner.entities[0], NOBODYS, own.entities[0]),
    "other": lambda ann, own, _: Known(ann.owner.entities[1], NOBODYS + 1, own.entities[1]),
    "edge_id": lambda ann, own, _: Known(ann.owner.edge, NOBODYS, own.edge),
    "tombstone_id": lambda ann, own, _: Known(ann.tombstone, NOBODYS, NOBODYS),
    "before": lambda ann, own, _: Known(ann.tombstone, NOBODYS, NOBODYS),
    "confirm": lambda ann, own, _: Known(ann.confirm, "f" * len(ann.confirm), "f" * len(ann.confirm)),
    "id": lambda ann, own, asked: Known(_row(ann.owner, asked), _missing(asked), _row(own, asked)),
    "words": lambda ann, own, _: Known("quixpassword", "nobodysword", "bob"),
    "name": lambda ann, own, _: Known("Quixzelda", "Nobodyhere", "Bob"),
    "relation": lambda ann, own, _: Known("quixhides_in", "nobody_hides", "lives_in"),
    "query": lambda ann, own, _: Known("Where is the quixpassword?", "Where is the nobodysword?", "Where is Bob?"),
    "edges": lambda ann, own, _: Known(*([{**TOLD, "source": n}] for n in ("Quixzelda", "Nobodyhere", "Bob"))),
    "entities": lambda ann, own, _: Known(*([{"name": n, "type": "person"}] for n in ("Quixburg", "Nobodys", "Bonn"))),
}
# Those that name nothing: what may be sent.
VALUES: Mapping[str, tuple[Any, ...]] = {
    "text": ("Bob lives in Bonn.",),
    "wait": (True,),
    "status": ("succeeded", "started"),
    "limit": (1, 50),
    "answer": (False,),
    "retrieval": ("keyword",),
    "as_of": ("2026-01-01",),
    "known_at": ("2026-01-01",),
    "since": ("2020-01-01",),
    "live": (True, False),
    "kind": ("knowledge",),
    "type": ("person",),
    "offset": (0,),
    "scope": ("artifact", "entity", "edge", "session", "run", "dataset", "user"),
    "what": ("artifacts", "edges", "entities", "sessions", "datasets"),
    "dry_run": (True, False),
    "purge": (True, False),
    "restate": ({"target": "Bern"},),
    "reason": ("It was wrong.",),
}
REQUIRED = {"answer", "restate", "text", "edges"}
"""Given always, where there is such a field: without them a call would need a model, or say nothing."""
LEFT_OUT = {
    "user_id": "who calls: the door fills it in",
    "session_source": "where the session was read, which doors tell",
    "cursor": "has a test of its own: it says where to go on in a list of the caller",
    "reference_time": "a time names nothing",
    "invalid_at": "given instead of restate",
    **dict.fromkeys(("models", "reasoning"), "which model: there is none here"),
    "messages": "have a test of their own: a model reads them",
    "image": "read by a model, and kept by the dataset",
    **dict.fromkeys(("timeseries", "web_search"), "not available"),
    **dict.fromkeys(("db", "by", "until"), "operations of the admin, who reads of all users"),
}


def _kind(asked: Mapping[str, Any]) -> str:
    """What `id` is an id of: forget calls it scope, browse calls it what."""
    return {"entities": "entity"}.get(kind := str(asked.get("scope") or asked.get("what", "")), kind.removesuffix("s"))


def _row(owner: Owner, asked: Mapping[str, Any]) -> int | str:
    if _kind(asked) in ("edge", "run", "session"):
        return getattr(owner, _kind(asked))
    return owner.entities[0] if _kind(asked) == "entity" else owner.artifact


def _missing(asked: Mapping[str, Any]) -> int | str:
    return "nobodys-talk" if _kind(asked) == "session" else NOBODYS


def test_every_field_of_every_operation_is_known_here() -> None:
    """A new row, or a new field, is asked about too: it names something, or it does not."""
    fields = {name for operation in EVERY for name in operation.request.model_fields}
    assert fields - HANDLES.keys() - VALUES.keys() - LEFT_OUT.keys() == set()
    assert {operation.name for _, operation in CASES} == {operation.name for operation in EVERY if not operation.admin}


# The promise ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[False, True], ids=["no tokens", "tokens"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    home, tokens = tmp_path_factory.mktemp("apart"), request.param
    flags = ("--tools", "full", "--tokens", "on" if tokens else "off", "--rate-limit-per-minute", "0")
    with served(home, *flags) as (url, _), httpx2.Client(base_url=url, timeout=60) as http:
        ann = Ann.at(called(home, http, "ann", tokens))
        yield World(home, http, tokens, ann, *newcomer(home, http, tokens))


UNHURRIED = settings(
    max_examples=5,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much, HealthCheck.too_slow],
)


def with_each(cases: Sequence[Question]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Asks these questions too, first and always."""

    def add(check: Callable[..., None]) -> Callable[..., None]:
        for case in cases:
            check = example(question=case)(check)
        return check

    return add


@dataclass(frozen=True)
class Question:
    """Values, and for each handle whose it is."""

    values: Mapping[str, Any]
    handles: Mapping[str, str]

    def of(self, world: World, own: Owner, *, guessed: bool) -> dict[str, Any]:
        """The fields of the request: with Ann's handles, or in their place with what nobody has."""
        fields = dict(self.values)
        for name, whose in self.handles.items():
            known = HANDLES[name](world.ann, own, self.values)
            fields[name] = known.own if whose == "own" else known.anns if guessed else known.nobodys
        return fields


@st.composite
def questions(draw: st.DrawFn, operation: Operation[Any, Any]) -> Question:
    values: dict[str, Any] = {}
    handles: dict[str, str] = {}
    for name, declared in operation.request.model_fields.items():
        needed = declared.is_required() or name in REQUIRED
        if name in VALUES and (needed or draw(st.booleans(), label=name)):
            values[name] = draw(st.sampled_from(VALUES[name]), label=name)
        if name in HANDLES:
            left_out = () if needed else ("", "") if name == "dataset" else ("",)
            whose = draw(st.sampled_from(("anns", "own", *left_out)), label=name)
            handles |= {name: whose} if whose else {}
    return Question(values, handles)


def alone(operation: Operation[Any, Any], handle: str) -> Question:
    """The least that can be asked with one handle of Ann's."""
    fields = operation.request.model_fields
    needed = [name for name in fields if fields[name].is_required() or name in REQUIRED]
    values = {name: VALUES[name][0] for name in needed if name in VALUES}
    return Question(
        values, {name: "anns" if name == handle else "own" for name in needed if name in HANDLES} | {handle: "anns"}
    )


def fitting(operation: Operation[Any, Any], question: Question, world: World) -> Question:
    """The question without the fields that can't be given with the others, and with those that must be."""
    for _ in operation.request.model_fields:
        try:
            parse(operation, {"user_id": "bob", **question.of(world, world.bobs, guessed=True)})
            return question
        except InvalidRequest as wrong:
            name = wrong.param or ""
            needed = {name: "anns"} if name in HANDLES and name not in question.handles else {}
            values = {other: value for other, value in question.values.items() if other != name}
            kept = {other: whose for other, whose in question.handles.items() if other != name}
            question = Question(values, kept | needed)
    raise AssertionError(f"{operation.name} can't be asked")


@pytest.mark.parametrize(("door", "operation"), CASES, ids=[f"{operation.name}, {door}" for door, operation in CASES])
def test_what_another_user_has_is_answered_like_what_nobody_has(
    world: World, door: str, operation: Operation[Any, Any]
) -> None:
    """C055, C058, C059: each handle by itself, and what else can be asked with several."""
    named = [name for name in operation.request.model_fields if name in HANDLES]

    @with_each([alone(operation, name) for name in named])
    @UNHURRIED
    @given(question=questions(operation))
    def check(question: Question) -> None:
        question = fitting(operation, question, world)
        assume("anns" in question.handles.values() or not named)
        answers: list[str] = []
        for guessed in (True, False):
            caller, own = (world.bob, world.bobs) if operation.reads_only else world.newcomer()
            fields = question.of(world, own, guessed=guessed)
            answer = caller.send(door, operation, fields)
            for known in (caller.user, *caller.sessions.values()):
                answer = answer.replace(known, "(caller)")
            answers.append(_told(answer, fields, counted=operation.reads_only))
        assert answers[0] == answers[1], question
        assert MARK not in answers[0].lower(), question

    check()


def _told(answer: str, fields: Mapping[str, Any], *, counted: bool) -> str:
    """What an answer tells: without what was sent, and of one that stored something without times and numbers, which
    differ from call to call."""
    for sent in sorted(_texts(fields), key=len, reverse=True):
        answer = answer.replace(sent, "(sent)")
    answer = re.sub(r"gbs_[0-9a-f]{32}", "(minted)", answer)
    return answer if counted else re.sub(r"\d+", "0", re.sub(r"\b[0-9a-f]{16,}\b", "(digest)", answer))


def _texts(value: object) -> set[str]:
    """The texts in a request that are handles or were searched for."""
    if isinstance(value, str):
        return {value, value.lower(), json.dumps(value)[1:-1]} if len(value) > 3 else set()
    if isinstance(value, Mapping):
        return _texts(list(cast("Mapping[str, object]", value).values()))
    return {text for part in cast("list[object]", value) for text in _texts(part)} if isinstance(value, list) else set()


def test_a_cursor_goes_on_in_ones_own_list(world: World) -> None:
    """Another user's cursor is a place in an order: what comes behind it are rows of one's own."""
    assert world.ann.cursors.keys() >= {"artifacts", "edges", "entities", "sessions", "datasets"}
    for name, cursor in world.ann.cursors.items():
        fields = {"cursor": cursor, **({"session_id": "own-talk"} if row(name).path_fields else {})}
        shown = world.bob.rest(row(name), fields)
        assert shown.status_code == 200
        assert MARK not in shown.text.lower().replace(cursor.lower(), "")


def test_no_address_shows_another_users_rows(world: World) -> None:
    ann, bob = world.ann.owner, world.bob
    places = {"artifacts": ann.artifact, "entities": ann.entities[0], "sessions": ann.session}
    uris = [(f"gligabao://main/{kind}/{i}", f"gligabao://main/{kind}/{NOBODYS}") for kind, i in places.items()]
    uris += [
        ("gligabao://main/entities/Quixzelda", "gligabao://main/entities/Nobodyhere"),
        (f"gligabao://quixdata/artifacts/{ann.artifact}", f"gligabao://nobodys-data/artifacts/{NOBODYS}"),
    ]
    for door in DOORS[1:]:
        for theirs, nobodys in uris:
            found = [json.dumps(bob.mcp(door, "resources/read", {"uri": uri})) for uri in (theirs, nobodys)]
            assert found[0].replace(theirs, "(sent)") == found[1].replace(nobodys, "(sent)")
            assert "error" in json.loads(found[0])
        assert "result" in bob.mcp(door, "resources/read", {"uri": f"gligabao://main/artifacts/{world.bobs.artifact}"})
        assert MARK not in json.dumps(bob.mcp(door, "resources/list", {})).lower()
        for argument in ("dataset", "id"):
            for kind in places:
                ref = {"type": "ref/resource", "uri": f"gligabao://{{dataset}}/{kind}/{{id}}"}
                known = {"arguments": {"dataset": "quixdata" if argument == "id" else "main"}}
                asked = {"ref": ref, "argument": {"name": argument, "value": MARK}, "context": known}
                completed = bob.mcp(door, "completion/complete", asked)
                assert completed["result"]["completion"]["values"] == []


def test_a_document_of_another_users_dataset_is_not_there(world: World) -> None:
    answers: list[tuple[int, str]] = []
    for dataset in ("quixdata", "nobodys-data"):
        user = {} if world.tokens else {"user_id": world.bob.user}
        shown = world.http.get("/v1/gb/export", params={"dataset": dataset, **user}, headers=world.bob.token)
        answers.append((shown.status_code, shown.text))
    assert answers[0] == answers[1]
    assert answers[0][0] == 404


@pytest.mark.anyio
async def test_a_message_that_another_user_told_is_new(rest: httpx2.AsyncClient, wire: Wire) -> None:
    """By its id or by its text: what is known is known to its user alone."""
    wire.always(chat('{"entities": [], "edges": []}'))

    async def told(user: str, message_id: str) -> str:
        messages = [{"id": message_id, "text": "The quixpassword is quixbeta.", "speaker": user}]
        answer = await rest.post("/v1/gb/remember", json={"user_id": user, "messages": messages})
        return _told(answer.text.replace(user, "(user)"), {"id": message_id}, counted=False)

    first, again = await told("ann", "quixmessage"), await told("ann", "quixmessage")
    assert ("known" in first, "known" in again) == (False, True)
    assert await told("bob", "quixmessage") == await told("cem", "nobodys") == first


def test_what_tells_of_all_users_is_not_told_to_a_user_with_a_token(world: World) -> None:
    for operation in (one for one in EVERY if one.admin):
        shown = world.bob.rest(operation, {"db": "gligabao"})
        assert shown.status_code == (403 if world.tokens else 200)
        assert "quixpassword" not in shown.text.lower()
        assert not world.tokens or MARK not in shown.text.lower()


def test_anns_memory_is_as_it_was(world: World) -> None:
    """Last of this file: nothing that others sent has changed it."""
    ann = called(world.home, world.http, "ann", world.tokens)
    assert ann.rest(row("artifacts"), {}).json()["total"] == 4
    found = ann.rest(row("query"), {"query": "Where does Quixzelda hide?", "answer": False}).json()
    assert any(edge["target"] == "Quixburg" for edge in found["evidence"]["edges"])
