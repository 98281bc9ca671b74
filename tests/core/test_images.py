"""Images: what is taken for one, what is read from it, and what is kept."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from typing import Any

import pytest

from core.answers import read_image_reading
from core.browse.artifacts import ArtifactsRequest, artifacts
from core.browse.sessions import SessionsRequest, sessions
from core.core import Core
from core.engine import NoEngine, PromptedEngine
from core.errors import GligabaoError, InvalidRequest, ModelFailed, NotConfigured
from core.forget.forget import ForgetRequest, forget
from core.forget.undo import UndoRequest, undo
from core.images import MAX_BLOCK, MAX_BLOCKS, MAX_BYTES, decoded_image
from core.inferences import Inference
from core.ports import Completion, RunOf
from core.remember.remember import perform, remember
from core.remember.request import RememberRequest
from core.remember.response import ImageResponse
from core.remember.run import Run
from core.remember.runs import RunRequest, remember_status
from gligabao_mcp.operations import REMEMBER, parse
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from tests.conftest import Opener, Tables
from tests.drawn import Format, as_base64, drawn
from tests.facts import ALICE_WORKS_AT_ACME, ask, tell
from tests.requirements import requirement

pytestmark = pytest.mark.anyio

PLOT: dict[str, object] = {
    "theme": "plot",
    "title": "Revenue 2025",
    "blocks": [{"text": "Q1 sales were good", "role": "axis_label"}, {"text": "Acme Corporation", "role": "caption"}],
    "language": "en",
}


async def show(core: Core, content: bytes | None = None, user_id: str = "u1", **more: Any) -> ImageResponse:
    image = as_base64(drawn() if content is None else content)
    told = await remember(core, RememberRequest(user_id=user_id, image=image, **more))
    assert isinstance(told, ImageResponse)
    return told


def refused(**given: object) -> str:
    with pytest.raises(InvalidRequest) as failure:
        parse(REMEMBER, {"user_id": "u1", **given})
    return failure.value.message


# What is taken for an image


@requirement("images.base64")
@pytest.mark.parametrize(
    ("kind", "media_type"),
    [("PNG", "image/png"), ("JPEG", "image/jpeg"), ("GIF", "image/gif"), ("WEBP", "image/webp")],
)
def test_the_format_and_the_sides_are_read_from_the_bytes(kind: Format, media_type: str) -> None:
    content = drawn(kind, size=(321, 77))
    image = decoded_image(as_base64(content))
    assert (image.media_type, image.width, image.height) == (media_type, 321, 77)
    assert (image.size, image.sha256) == (len(content), hashlib.sha256(content).hexdigest())


def test_every_form_of_webp_and_jpeg_states_its_sides() -> None:
    for content in (
        drawn("WEBP", size=(321, 77), lossless=True),
        drawn("WEBP", size=(321, 77), exif=b"Exif\0\0II*\0\x08\0\0\0\0\0"),
        drawn("JPEG", size=(321, 77), progressive=True, comment=b"c" * 60_000),
    ):
        image = decoded_image(as_base64(content))
        assert (image.width, image.height) == (321, 77)


@requirement("images.base64")
def test_a_data_url_and_white_space_are_taken_and_its_label_is_not_believed() -> None:
    plain = as_base64(drawn("PNG"))
    lines = "\n".join(plain[i : i + 76] for i in range(0, len(plain), 76))
    for stated in (lines, f"data:image/jpeg;base64,{plain}", f"  Data:image/png;BASE64, {lines}\r\n"):
        request = parse(REMEMBER, {"user_id": "u1", "image": stated}).request
        assert request.image == plain
        assert request.told_image.media_type == "image/png"


@requirement("images.base64")
@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("", "image: must be a PNG, JPEG, GIF or WebP image"),
        ("not base64!", "image: must be an image in base64"),
        ("abcd\u00e9", "image: must be an image in base64"),
        (as_base64(b"%PDF-1.7 and more"), "image: must be a PNG, JPEG, GIF or WebP image"),
        (as_base64(drawn("PNG")[:20]), "image: must be a PNG, JPEG, GIF or WebP image"),
        (as_base64(drawn("JPEG")[:30]), "image: must be a PNG, JPEG, GIF or WebP image"),
        (as_base64(b"\xff\xd8\xff\xe0\x00\x00" * 50), "image: must be a PNG, JPEG, GIF or WebP image"),
        (as_base64(b"GIF89a\x00\x00\x10\x00"), "image: must have sides of 1 to 8000 pixels, has 0 x 16"),
        (as_base64(b"GIF89a\x41\x1f\x10\x00"), "image: must have sides of 1 to 8000 pixels, has 8001 x 16"),
        (17, "image: must be a string"),
    ],
)
def test_what_is_no_image_within_the_limits_is_refused(image: object, said: str) -> None:
    assert refused(image=image) == said


def test_an_image_may_have_three_and_three_quarters_mebibytes() -> None:
    picture = drawn(noise=bytes(MAX_BYTES))[:MAX_BYTES]
    assert decoded_image(as_base64(picture)).size == MAX_BYTES
    for more in (1, 1000, MAX_BYTES):
        said = refused(image=as_base64(picture + bytes(more)))
        assert said == "image: must be at most 3932160 bytes once decoded (3.75 MiB)"


@requirement("images.no-text-no-kind", "images.no-timeseries-no-web-search")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("text", "Alice works at Acme."),
        ("text", ""),
        ("messages", [{"text": "Hello."}]),
        ("kind", "episode"),
        ("kind", "image"),
        ("timeseries", {"series": []}),
        ("web_search", True),
        ("entities", []),
        ("edges", []),
    ],
)
def test_an_image_stands_alone(field: str, value: object) -> None:
    assert refused(image=as_base64(drawn()), **{field: value}) == f"{field}: can't be given with image"


def test_what_is_not_set_may_stand_beside_an_image() -> None:
    unset = {"text": None, "kind": "", "web_search": False, "timeseries": None}
    assert parse(REMEMBER, {"user_id": "u1", "image": as_base64(drawn()), **unset}).request.image


# What is read


@requirement("images.pipeline", "sessions.with-image", "models.extract-image", "reasoning.summary-and-image-stages")
async def test_theme_title_and_blocks_are_answered(core: Core, model: ScriptedModel, tables: Tables) -> None:
    model.replies(PLOT)
    seen = await show(
        core,
        session_id="chat-1",
        reference_time="2026-03-01T10:00:00+02:00",
        models={"extract_image": "claude-sonnet-5-5"},
        reasoning={"extract_image": "Low"},
    )
    body = seen.body()
    assert body["blocks"] == PLOT["blocks"]
    assert (body["kind"], body["theme"], body["title"], body["deduplicated"]) == (
        "image",
        "plot",
        "Revenue 2025",
        False,
    )
    assert (body["media_type"], body["width"], body["height"]) == ("image/png", 800, 500)
    assert (body["session_id"], body["valid_at"]) == ("chat-1", "2026-03-01T08:00:00Z")
    assert body["sha256"] == hashlib.sha256(drawn()).hexdigest()
    (artifact,) = tables.rows("SELECT * FROM gb_artifacts")
    assert artifact["text"] == "Revenue 2025\nQ1 sales were good\nAcme Corporation"
    assert (artifact["kind"], artifact["session_id"], artifact["model_id"]) == ("image", "chat-1", "claude-sonnet-5-5")
    (call,) = tables.rows("SELECT * FROM gb_inferences WHERE stage = 'extract_image'")
    assert (call["id"], call["type"], call["reasoning"]) == (artifact["inference_id"], "remember", "low")
    (prompt,) = model.prompts
    assert prompt.image is not None and prompt.image.content == drawn()
    assert prompt.max_tokens == 4096
    assert (model.choices[0].model, model.choices[0].reasoning) == ("claude-sonnet-5-5", "low")


@requirement("images.nothing-in-the-graph")
async def test_an_image_adds_nothing_to_the_graph(core: Core, model: ScriptedModel, tables: Tables) -> None:
    model.replies(PLOT)
    await show(core, session_id="chat-1")
    for table in ("gb_entities", "gb_edges", "gb_entity_sessions", "gb_edge_sessions", "gb_entity_artifacts"):
        assert tables.count(table) == 0
    assert (await ask(core, "What was the revenue of 2025?", answer=False)).evidence.edges == []


async def test_its_words_are_embedded_as_a_chunk(core: Core, model: ScriptedModel, embedder: HashEmbedder) -> None:
    model.replies(PLOT)
    await show(core)
    assert embedder.batches == [["Revenue 2025\nQ1 sales were good\nAcme Corporation"]]
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None and core.vectors is not None
    vectors = (await embedder.embed(["revenue 2025"])).vectors
    ((hit,),) = await core.vectors.search(dataset, "chunks", vectors, 3)
    assert hit.ref_id == 1


async def test_an_image_without_words_is_kept_and_not_embedded(
    core: Core, model: ScriptedModel, embedder: HashEmbedder
) -> None:
    model.replies({"theme": "photo", "title": "", "blocks": [], "language": ""})
    seen = await show(core)
    assert (seen.theme, seen.title, seen.blocks) == ("photo", "", [])
    assert embedder.calls == 0


async def test_the_bytes_are_kept_only_where_that_is_set(opened: Opener, model: ScriptedModel, tables: Tables) -> None:
    model.replies(PLOT, PLOT)
    async with opened() as core:
        await show(core, dataset="a")
    async with opened(store_images=True) as core:
        await show(core, dataset="b")
    kept = [row["content"] and bytes(row["content"]) for row in tables.rows("SELECT content FROM gb_images")]
    assert kept == [None, drawn()]


async def test_secrets_in_an_image_are_masked_where_that_is_set(opened: Opener, model: ScriptedModel) -> None:
    model.replies(PLOT | {"blocks": [{"text": "api_key: sk-0123456789abcdef0123", "role": "cell"}]})
    async with opened(mask_secrets=True) as core:
        seen = await show(core)
    assert "0123456789" not in str(seen.body())
    assert seen.warnings == ["masked 1 secret"]


async def test_a_failed_reading_stores_nothing_and_its_calls_are_on_record(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies("I see a plot.", "Still a plot.")
    with pytest.raises(ModelFailed, match="could not be parsed"):
        await show(core)
    assert tables.count("gb_artifacts") == tables.count("gb_images") == tables.count("gb_datasets") == 0
    calls = tables.rows("SELECT error FROM gb_inferences")
    assert [call["error"] for call in calls] == ["the model's answer could not be parsed"] * 2
    (run,) = tables.rows("SELECT status, error, kind FROM gb_remember_runs")
    assert run == {"status": "failed", "error": "the model's answer could not be parsed", "kind": "image"}


async def test_a_refusal_is_not_asked_again(core: Core, model: ScriptedModel) -> None:
    model.replies(Completion("", Inference("scripted", "scripted-1", "scripted-1"), "refused", "cyber"))
    with pytest.raises(ModelFailed, match="refused to answer"):
        await show(core)
    assert len(model.prompts) == 1


async def test_an_answer_of_no_use_is_asked_for_once_more_with_the_image(core: Core, model: ScriptedModel) -> None:
    model.replies("{}", PLOT)
    assert (await show(core)).title == "Revenue 2025"
    assert [prompt.image is not None for prompt in model.prompts] == [True, True]


async def test_without_a_model_nothing_is_read(config: Any) -> None:
    async with open_core(config, Providers(NoEngine())) as core:
        with pytest.raises(NotConfigured):
            await show(core)


# What an answer is read as


def test_what_is_not_on_the_lists_is_other() -> None:
    said = '{"theme": "Meme", "title": null, "blocks": [{"text": " a\\u0000b ", "role": "Axis label"}, {"text": "c"}]}'
    usable = read_image_reading(f"Here it is:\n```json\n{said}\n```")
    assert usable is not None and usable.left_out == 0
    assert (usable.value.theme, usable.value.title) == ("other", "")
    assert [(block.text, block.role) for block in usable.value.blocks] == [("ab", "axis_label"), ("c", "other")]


def test_blocks_have_their_limits() -> None:
    blocks = [{"text": "x" * (MAX_BLOCK + 5), "role": "cell"}] * (MAX_BLOCKS + 7) + [{"text": " ", "role": "cell"}]
    usable = read_image_reading(str({"blocks": blocks}).replace("'", '"'))
    assert usable is not None and usable.left_out == 7
    assert len(usable.value.blocks) == MAX_BLOCKS
    assert {len(block.text) for block in usable.value.blocks} == {MAX_BLOCK}


@pytest.mark.parametrize("text", ["", "no json", "{}", '{"blocks": "x"}', '{"blocks": [{"words": "x"}]}', "[]"])
def test_an_answer_without_blocks_is_of_no_use(text: str) -> None:
    assert read_image_reading(text) is None


# Known images


@requirement("images.known-image", "sessions.with-image")
async def test_a_known_image_is_answered_as_it_was_read(core: Core, model: ScriptedModel, tables: Tables) -> None:
    model.replies(PLOT)
    first = await show(core, session_id="chat-1", reference_time="2026-03-01T08:00:00Z")
    again = await show(core, session_id="chat-2")
    assert again.deduplicated
    same = {"remember_run_id", "session_id", "deduplicated"}
    assert again.model_dump(exclude=same) == first.model_dump(exclude=same)
    assert (again.session_id, again.remember_run_id) == ("chat-2", (first.remember_run_id or 0) + 1)
    assert tables.count("gb_artifacts") == tables.count("gb_images") == len(model.prompts) == 1
    links = tables.rows("SELECT artifact_id, session_id FROM gb_artifact_sessions")
    assert links == [{"artifact_id": first.artifact_id, "session_id": "chat-2"}]


async def test_the_session_that_told_it_first_is_not_linked_twice(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(PLOT)
    for session in ("chat-1", "chat-1", None, "chat-2", "chat-2"):
        await show(core, session_id=session)
    assert tables.count("gb_artifact_sessions") == 1


@requirement("images.known-image")
async def test_an_image_is_known_by_its_bytes_in_its_own_dataset(core: Core, model: ScriptedModel) -> None:
    model.replies(PLOT, PLOT, PLOT, PLOT)
    await show(core)
    assert not (await show(core, drawn("GIF"))).deduplicated
    assert not (await show(core, dataset="other")).deduplicated
    assert not (await show(core, user_id="u2")).deduplicated
    assert (await show(core, user_id="u2")).deduplicated


async def test_two_at_once_are_read_once(core: Core, model: ScriptedModel, tables: Tables) -> None:
    model.replies(PLOT)
    seen = await asyncio.gather(*(show(core, session_id=f"chat-{i}") for i in range(5)))
    assert sorted(one.deduplicated for one in seen) == [False, True, True, True, True]
    assert len({one.artifact_id for one in seen}) == len(model.prompts) == tables.count("gb_images") == 1


async def test_an_image_that_another_process_stores_meanwhile_is_that_one(
    opened: Opener, model: ScriptedModel, tables: Tables
) -> None:
    """The other one wins between the look for the image and the write."""
    async with opened() as core, opened() as other:
        theirs: list[ImageResponse] = []

        class Slow(ScriptedModel):
            async def complete(self, prompt: Any, choice: Any) -> Completion:
                dataset = await other.graph.dataset("u1", "main")
                assert dataset is None
                theirs.append(await _stored_past_the_queue(other))
                return await model.complete(prompt, choice)

        model.replies(PLOT, PLOT | {"title": "Read second"})
        seen = await show(replace(core, engine=PromptedEngine(Slow())))
    assert seen.deduplicated and seen.title == theirs[0].title == "Revenue 2025"
    assert tables.count("gb_artifacts") == 1


async def _stored_past_the_queue(core: Core) -> ImageResponse:
    """What a process writes whose lease another one took for gone."""
    request = RememberRequest(user_id="u1", image=as_base64(drawn()))
    run = Run(core, RunOf("u1", "main", None), core.clock())
    answered = await perform(core, request, run)
    assert isinstance(answered, ImageResponse)
    return answered


async def test_images_and_texts_live_side_by_side(core: Core, model: ScriptedModel) -> None:
    model.replies(ALICE_WORKS_AT_ACME, PLOT)
    told = await tell(core)
    seen = await show(core)
    assert seen.artifact_id == told.artifact_id + 1


# What was forgotten


async def test_a_forgotten_image_is_not_known_any_more_and_comes_back_with_its_sessions(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(PLOT)
    seen = await show(core, session_id="chat-1")
    await show(core, session_id="chat-2")
    gone = await forget(core, ForgetRequest(user_id="u1", scope="artifact", id=str(seen.artifact_id)))
    assert tables.count("gb_images") == tables.count("gb_artifact_sessions") == 0
    await undo(core, UndoRequest(user_id="u1", tombstone_id=gone.tombstone_id or 0))
    known = await show(core, session_id="chat-3")
    assert known.deduplicated and known.title == "Revenue 2025"
    sessions = [row["session_id"] for row in tables.rows("SELECT session_id FROM gb_artifact_sessions")]
    assert sorted(sessions) == ["chat-2", "chat-3"]


async def test_a_forgotten_session_that_told_it_again_leaves_the_image(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(PLOT)
    await show(core, session_id="chat-1")
    await show(core, session_id="chat-2")
    gone = await forget(core, ForgetRequest(user_id="u1", scope="session", id="chat-2"))
    assert (tables.count("gb_images"), tables.count("gb_artifact_sessions")) == (1, 0)
    await undo(core, UndoRequest(user_id="u1", tombstone_id=gone.tombstone_id or 0))
    assert tables.count("gb_artifact_sessions") == 1


async def test_a_purged_image_leaves_no_digest_in_the_log(core: Core, model: ScriptedModel, tables: Tables) -> None:
    model.replies(PLOT)
    seen = await show(core)
    await show(core)
    await forget(core, ForgetRequest(user_id="u1", scope="artifact", id=str(seen.artifact_id), purge=True))
    kept = [row["parameters"] for row in tables.rows("SELECT parameters FROM gb_remember_runs")]
    assert kept in ([{}, {}], ["{}", "{}"])
    status = await remember_status(core, RunRequest(user_id="u1", remember_run_id=seen.remember_run_id or 0))
    assert status.response is None


@requirement("sessions.with-image")
async def test_each_session_that_told_an_image_lists_it(core: Core, model: ScriptedModel) -> None:
    model.replies(PLOT)
    for session in ("chat-1", "chat-2"):
        await show(core, session_id=session)
    listed = await sessions(core, SessionsRequest(user_id="u1"))
    assert {item.session_id: item.artifacts for item in listed.items} == {"chat-1": 1, "chat-2": 1}
    for session in ("chat-1", "chat-2"):
        found = await artifacts(core, ArtifactsRequest(user_id="u1", session_id=session, kind="image"))
        assert [item.id for item in found.items] == [1]


# What is on record of it


async def test_the_run_log_has_the_digest_and_not_the_image(core: Core, model: ScriptedModel, tables: Tables) -> None:
    model.replies(PLOT)
    seen = await show(core, models={"extract_image": "claude-sonnet-5-5"})
    record = await core.runs.run(seen.remember_run_id or 0)
    assert record is not None
    assert (record.kind, record.status, record.artifact_id) == ("image", "succeeded", seen.artifact_id)
    assert record.parameters == {
        "image_bytes": len(drawn()),
        "image_sha256": seen.sha256,
        "models": {"extract_image": "claude-sonnet-5-5"},
    }
    assert {stage.stage: stage.status for stage in record.stages} == {
        "extract_image": "succeeded",
        "store": "succeeded",
    }


async def test_a_run_that_goes_on_after_a_crash_told_the_image_itself(
    core: Core, model: ScriptedModel, tables: Tables
) -> None:
    model.replies(PLOT)
    first = await show(core)
    request = RememberRequest(user_id="u1", image=as_base64(drawn()))
    resumed = Run(core, RunOf("u1", "main", None, first.remember_run_id), core.clock(), resumed=True)
    assert await perform(core, request, resumed) == first
    assert tables.count("gb_images") == 1


async def test_a_run_of_an_image_tells_its_response_later(core: Core, model: ScriptedModel) -> None:
    model.replies(PLOT)
    for _ in range(2):
        seen = await show(core, session_id="chat-1")
        told = await remember_status(core, RunRequest(user_id="u1", remember_run_id=seen.remember_run_id or 0))
        assert told.response == seen


async def test_the_vectors_wait_where_the_embedder_fails(
    core: Core, model: ScriptedModel, embedder: HashEmbedder, tables: Tables
) -> None:
    model.replies(PLOT)
    embedder.fails()
    with pytest.raises(GligabaoError):
        await show(core)
    assert tables.count("gb_images") == 0
