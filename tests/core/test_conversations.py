"""Conversations: messages that are read together, each an artifact of its own."""

from __future__ import annotations

from typing import Any

import pytest

from core.core import Core
from core.errors import InvalidRequest
from core.remember.remember import remember
from core.remember.request import RememberRequest
from core.remember.response import ConversationResponse
from gligabao_mcp.operations import REMEMBER, parse
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from tests.conftest import Opener, Tables
from tests.facts import Reply, edge, graph, verdict, verdicts

pytestmark = pytest.mark.anyio

CHAT = [
    {"text": "I started at Nord last week.", "speaker": "Ivo", "id": "m1", "reference_time": "2026-03-01T10:00:00Z"},
    {"text": "Nice weather today!", "speaker": "Mara", "id": "m2", "reference_time": "2026-03-01T10:01:00Z"},
    {"text": "My sister lives in Split.", "speaker": "Mara", "id": "m3", "reference_time": "2026-03-02T09:00:00Z"},
]


def said(message: int, source: str, relation: str, target: str, **more: object) -> dict[str, object]:
    return edge(source, relation, target, message=message, **more)


READ = graph(
    "Ivo:person",
    "Nord:organization",
    "Mara's sister:person",
    "Split:place",
    edges=[said(0, "Ivo", "works_at", "Nord"), said(2, "Mara's sister", "lives_in", "Split")],
)


async def chat(core: Core, messages: list[dict[str, Any]], **more: Any) -> ConversationResponse:
    request = RememberRequest.model_validate({"user_id": "u1", "messages": messages, **more})
    told = await remember(core, request)
    assert isinstance(told, ConversationResponse)
    return told


async def test_a_conversation_is_read_in_one_call_and_each_message_keeps_its_own_facts(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(READ)
    told = await chat(core, CHAT, session_id="s1")
    assert [prompt.schema_name for prompt in model.prompts] == ["extract_messages"]
    assert [message.id for message in told.messages] == ["m1", "m2", "m3"]
    first, second, third = told.messages
    works, lives = told.edges
    assert (first.edge_ids, second.edge_ids, third.edge_ids) == ([works.id], [], [lives.id])
    assert (works.artifact_id, lives.artifact_id) == (first.artifact_id, third.artifact_id)
    assert [works.valid_at.isoformat(), lives.valid_at.isoformat()] == [
        "2026-03-01T10:00:00+00:00",
        "2026-03-02T09:00:00+00:00",
    ]
    rows = tables.rows("SELECT kind, text, speaker, external_id, session_id FROM gb_artifacts ORDER BY id")
    assert rows == [
        {"kind": "episode", "text": m["text"], "speaker": m["speaker"], "external_id": m["id"], "session_id": "s1"}
        for m in CHAT
    ]
    assert told.kind == "episode"


async def test_every_message_is_embedded_in_the_one_request_of_its_stretch(
    core: Core, model: ScriptedModel, embedder: HashEmbedder
) -> None:
    model.replies(READ)
    told = await chat(core, CHAT)
    assert told.embedded_chunks == 3
    (batch,) = embedder.batches
    assert batch[-3:] == [f"{m['speaker']}: {m['text']}" for m in CHAT]
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None and core.vectors is not None
    wanted = (await embedder.embed(["Mara: Nice weather today!"])).vectors
    ((hit,),) = await core.vectors.search(dataset, "chunks", wanted, 1)
    assert hit.ref_id == told.messages[1].artifact_id


async def test_messages_that_are_known_are_not_remembered_again(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(READ)
    first = await chat(core, CHAT)
    again = await chat(core, CHAT)
    assert [message.artifact_id for message in again.messages] == [message.artifact_id for message in first.messages]
    assert all(message.known for message in again.messages)
    assert (again.entities, again.edges) == ([], [])
    model.replies(graph("Ivo", "boats", edges=[said(0, "Ivo", "likes", "boats")]), {"results": []})
    more = await chat(core, [*CHAT, {"text": "I like boats.", "speaker": "Ivo", "id": "m4"}])
    assert [message.known for message in more.messages] == [True, True, True, None]
    assert more.messages[3].edge_ids == [more.edges[0].id]
    assert "weather" not in model.prompts[1].user
    assert tables.count("gb_artifacts") == 4


async def test_a_message_without_an_id_is_remembered_whenever_it_is_told(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(graph(), graph())
    for _ in range(2):
        await chat(core, [{"text": "Hello!"}])
    assert tables.count("gb_artifacts") == 2


async def test_a_long_conversation_is_read_in_stretches_of_the_size_of_a_chunk(
    opened: Opener, model: ScriptedModel
) -> None:
    messages = [{"text": f"Message number {n} says hello to everybody here.", "speaker": "Ivo"} for n in range(30)]
    model.replies(*[graph()] * 10)
    async with opened(chunk_size=64) as core:
        told = await chat(core, messages)
    assert len(told.messages) == 30
    assert [m.artifact_id for m in told.messages] == sorted(m.artifact_id for m in told.messages)
    stretches = [prompt.user for prompt in model.prompts]
    assert 2 <= len(stretches) < 10
    assert sum(stretch.count("says hello") for stretch in stretches) == 30
    assert all(stretch.startswith("<messages>\n[0] ") for stretch in stretches)


async def test_a_message_that_is_longer_than_a_chunk_is_chunked_like_a_document(
    opened: Opener, model: ScriptedModel, tables: Tables
) -> None:
    long = " ".join(f"Ivo met {n} friends in Split." for n in range(30))

    def answers() -> list[Reply]:
        return [graph("Ivo", "Split", edges=[edge("Ivo", "visited", "Split")]), {"summary": "Friends."}]

    model.replies(graph(), *answers() * 8, graph())
    async with opened(chunk_size=64) as core:
        told = await chat(core, [{"text": "Hi."}, {"text": long, "id": "long"}, {"text": "Bye."}])
    before, whole, after = told.messages
    assert before.artifact_id < whole.artifact_id < after.artifact_id
    chunks = tables.rows("SELECT id FROM gb_artifacts WHERE kind = 'chunk' AND parent_id = :id", id=whole.artifact_id)
    assert len(chunks) > 3
    assert whole.edge_ids == [told.edges[0].id]
    assert tables.rows("SELECT text FROM gb_artifacts WHERE external_id = 'long'") == [{"text": long}]


async def test_the_same_fact_in_two_messages_is_one_fact_of_both(core: Core, model: ScriptedModel) -> None:
    """C032"""
    when = {"valid_at": "2026-01-01"}
    model.replies(
        graph(
            "Ivo",
            "Nord",
            edges=[said(0, "Ivo", "works_at", "Nord", **when), said(1, "Ivo", "works_at", "Nord", **when)],
        )
    )
    told = await chat(core, [{"text": "Ivo works at Nord."}, {"text": "Yes, Ivo works at Nord."}])
    assert len(told.edges) == 1
    assert [message.edge_ids for message in told.messages] == [[told.edges[0].id]] * 2


async def test_what_a_later_message_changes_closes_what_an_earlier_one_said(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(
        graph("Ivo", "Split", "Zadar", edges=[said(0, "Ivo", "lives_in", "Split"), said(1, "Ivo", "lives_in", "Zadar")])
    )
    told = await chat(
        core,
        [
            {"text": "Ivo lives in Split.", "reference_time": "2026-01-01T00:00:00Z"},
            {"text": "Ivo lives in Zadar now.", "reference_time": "2026-03-01T00:00:00Z"},
        ],
    )
    split, zadar = told.edges
    assert split.invalid_at == zadar.valid_at
    assert split.expired_at is not None and zadar.expired_at is None
    assert tables.rows("SELECT closed_by FROM gb_edges WHERE id = :id", id=split.id) == [{"closed_by": zadar.id}]
    assert told.invalidated_edges == []


async def test_a_conversation_closes_stored_facts(core: Core, model: ScriptedModel) -> None:
    model.replies(graph("Ivo", "Split", edges=[said(0, "Ivo", "lives_in", "Split")]))
    first = await chat(core, [{"text": "Ivo lives in Split.", "reference_time": "2026-01-01T00:00:00Z"}])
    model.replies(
        graph("Ivo", "Zadar", edges=[said(1, "Ivo", "lives_in", "Zadar")]),
        verdicts(verdict(0, contradicts=[first.edges[0].id])),
    )
    second = await chat(core, [{"text": "News!"}, {"text": "Ivo moved to Zadar."}])
    assert second.invalidated_edges == [first.edges[0].id]


async def test_a_message_number_that_is_not_there_counts_as_the_first(core: Core, model: ScriptedModel) -> None:
    """C028"""
    model.replies(graph("Ivo", "Nord", edges=[said(99, "Ivo", "works_at", "Nord")]))
    told = await chat(core, CHAT[:2])
    assert told.messages[0].edge_ids == [told.edges[0].id]


@pytest.mark.parametrize(
    ("request_", "says"),
    [
        ({"messages": []}, "messages: must hold at least one message"),
        ({"messages": [{"text": " "}]}, r"messages\[0\].text: must be a non-empty text"),
        ({"messages": [{"text": "a"}], "text": "b"}, "text: can't be given with messages"),
        ({"messages": [{"text": "a"}], "edges": []}, "edges: can't be given with messages"),
        ({"messages": [{"text": "a"}], "kind": "1"}, "kind: messages are of kind episode"),
        ({"messages": [{"text": "a"}], "kind": [1]}, "kind: messages are of kind episode"),
        ({"messages": [{"text": "a"}], "kind": "knowledge"}, "kind: messages are of kind episode"),
        (
            {"messages": [{"text": "a", "id": "1"}, {"text": "b", "id": "1"}]},
            "messages: must not hold the same id twice",
        ),
        ({"messages": [{"text": "a", "id": "x" * 129}]}, r"messages\[0\].id: must be at most 128 bytes"),
        ({"messages": [{"text": "a"}] * 1001}, "messages: must hold at most 1000 items"),
        ({"messages": [{"text": "a", "role": "user"}]}, r"messages\[0\].role: is not known here"),
        ({"messages": [{"text": "a" * 600_000}, {"text": "b" * 600_000}]}, "messages: must hold at most 1048576 bytes"),
        ({}, "text: is required"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_conversations_of_another_form_are_refused(request_: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^{says}"):
        parse(REMEMBER, {"user_id": "u1", **request_})
