"""An image on its way into the memory: known by its bytes, else read once and stored. It adds nothing to the graph."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from core.core import Core
from core.errors import Conflict, Stale, VectorsPending
from core.graph import Artifact, Extraction, Known, Stored
from core.images import Block, Image, ImageReading, KnownImage, ReadImage
from core.inferences import Choice
from core.ports import RunOf
from core.remember.embed import Indexed, embed, embedder_for
from core.remember.request import RememberRequest
from core.remember.response import ImageResponse, image_response
from core.remember.run import Run
from core.remember.stages import EXTRACT_IMAGE
from core.remember.store import store
from core.secrets import mask
from core.times import utc

# How often it is tried again when other processes write to the dataset meanwhile.
TRIES = 4
NOTHING_STATED = Extraction((), (), "")


async def remember_image(core: Core, request: RememberRequest, run: Run) -> ImageResponse:
    """One run of remember for an image. One that the dataset holds is answered as it was read then, with no model call,
    and the session is linked to it; else a failure stores nothing."""
    image, indexed = request.told_image, Indexed()
    known = await _known(core, image, run.of)
    if known is None:
        artifact = await _read(core, image, request, run)
        known, indexed = await _keep(core, artifact, image, run)
    if run.of.session_id and run.of.session_id != known.session_id:
        await _link(core, known, run.of)
    response = image_response(known, run.of, run.notes)
    await run.finish(known.artifact_id)
    if indexed.failed:
        raise VectorsPending(
            f"the image is stored, but {indexed.failed}; they are written again by themselves", saved=response.body()
        )
    return response


async def recall_image(core: Core, of: RunOf, sha256: str) -> ImageResponse | None:
    """What a run that ended has answered; None where the image was forgotten since."""
    dataset = await core.graph.dataset(of.user_id, of.dataset)
    known = await core.graph.image(dataset, sha256) if dataset else None
    return image_response(known, of) if known else None


async def _known(core: Core, image: Image, of: RunOf) -> KnownImage | None:
    dataset = await core.graph.dataset(of.user_id, of.dataset)
    return await core.graph.image(dataset, image.sha256) if dataset else None


async def _link(core: Core, known: KnownImage, of: RunOf) -> None:
    dataset = await core.graph.dataset(of.user_id, of.dataset)
    if dataset is not None and of.session_id:
        await core.graph.link_session(dataset, known.artifact_id, of.session_id, core.clock())


async def _read(core: Core, image: Image, request: RememberRequest, run: Run) -> Artifact:
    """The image as an artifact to be stored: its words are its text. The call that read it is recorded first, for the
    artifact names it."""
    choice = Choice(request.models.get("extract_image", ""), request.reasoning.get("extract_image", "none"))
    async with run.stage(EXTRACT_IMAGE) as entry:
        reply = await core.engine.read_image(image, choice)
        entry.called(reply.inferences, said=reply.value)
        run.notes += reply.notes
        inference_id = await run.recorded(entry)
    reading = _masked(reply.value, run) if core.config.mask_secrets else reply.value
    kept = image if core.config.store_images else replace(image, content=None)
    return Artifact(
        "image",
        reading.text,
        request.session_id,
        _reference_time(request, run),
        index="chunks" if reading.text else None,
        model_id=reply.inferences[-1].model,
        inference_id=inference_id,
        session_source=request.session_source,
        image=ReadImage(kept, reading),
    )


def _masked(reading: ImageReading, run: Run) -> ImageReading:
    title, masked = mask(reading.title)
    blocks: list[Block] = []
    for block in reading.blocks:
        text, found = mask(block.text)
        blocks.append(replace(block, text=text))
        masked += found
    if masked:
        run.note(f"masked {masked} secret{'s' if masked > 1 else ''}")
    return replace(reading, title=title, blocks=tuple(blocks))


def _reference_time(request: RememberRequest, run: Run) -> datetime:
    stated = request.reference_time or run.began
    if stated.tzinfo is None:
        run.note("reference_time has no zone and was read as UTC")
    return utc(stated)


async def _keep(core: Core, artifact: Artifact, image: Image, run: Run) -> tuple[KnownImage, Indexed]:
    """The image as it is stored; where another process told the same one meanwhile, as that one did."""
    for _ in range(TRIES):
        try:
            stored = await _store(core, artifact, run)
        except Stale:
            if known := await _known(core, image, run.of):
                return known, Indexed()
            continue
        assert artifact.image is not None
        known = KnownImage(
            stored.artifact_ids[0],
            run.of.run_id,
            artifact.session_id,
            artifact.valid_at,
            stored.created_at,
            artifact.image,
        )
        return known, await embed([stored], core)
    raise Conflict("other writers kept changing the dataset; nothing was stored, try again")


async def _store(core: Core, artifact: Artifact, run: Run) -> Stored:
    dataset = await core.graph.dataset(run.of.user_id, run.of.dataset)
    embedder, later = embedder_for(core, dataset, run)
    known = Known(seq=dataset.head_seq if dataset else 0)
    return await store([artifact], NOTHING_STATED, [], known, dataset, core.graph, embedder, run, embed_later=later)
