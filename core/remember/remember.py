"""remember: the operation, from the request to the response."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from core.core import Core
from core.errors import GligabaoError, VectorsPending
from core.extraction import RawEdge, RawEntity
from core.inferences import Choice
from core.remember import pipeline
from core.remember.embed import Indexed
from core.remember.pipeline import Interrupted
from core.remember.remember_image import remember_image
from core.remember.request import RememberRequest
from core.remember.response import (
    Accepted,
    MessageItem,
    Remembering,
    RememberResponse,
    Terms,
    respond,
    vector_counts,
)
from core.remember.run import Run
from core.remember.telling import Given, Telling, Told
from core.requests import Response
from core.secrets import mask
from core.spending import charge_to
from core.text import clean
from core.times import utc
from core.trajectory import Of, recorded


async def remember(core: Core, request: RememberRequest) -> Remembering | Accepted:
    """Remember a text or a conversation: keep it, add the facts that it states to the knowledge graph with the time
    they became true, and close the stored facts that they contradict.

    A text is stored in one transaction, or nothing is; a long one chunk by chunk. Remembering the same text again adds
    no second fact. With wait false the call is kept and goes on by itself; its run says how it went.
    """
    if request.entities is None and request.edges is None:
        core.engine.require()
    return await core.manager.remember(core, request)


async def perform(core: Core, request: RememberRequest, run: Run) -> Remembering:
    """One run of remember, from the request to the response. What the run stored before a crash is not stored again."""
    charge_to(request.user_id)
    if request.image is not None:
        async with _recorded(core, request, "", run):
            return await remember_image(core, request, run)
    kept = await _kept(core, request, run)
    async with _recorded(core, request, kept.telling.said, run):
        return await _remember(core, request, kept, run)


def _recorded(core: Core, request: RememberRequest, said: str, run: Run) -> AbstractAsyncContextManager[None]:
    """The trajectory of the run, where those are kept."""

    def asked() -> dict[str, object]:
        chosen = {"models": request.models, "reasoning": request.reasoning}
        return {"user_id": request.user_id, "dataset": request.dataset, **request.parameters(), **chosen}

    return recorded(core, Of("remember", request.session_id, run.of.run_id), said, asked)


async def _remember(core: Core, request: RememberRequest, kept: _Kept, run: Run) -> Remembering:
    try:
        done, indexed = await pipeline.execute(core, kept.telling, _choices(request), run)
    except Interrupted as interrupted:
        so_far = respond(interrupted.stored, _terms(request, kept, run, vector_counts(interrupted.stored, Indexed())))
        raise _partly_stored(interrupted, so_far) from interrupted
    terms = _terms(request, kept, run, vector_counts(done, indexed))
    response = respond(done, terms)
    artifact_id = response.artifact_id if isinstance(response, RememberResponse) else None
    await run.finish(artifact_id, outcome=terms.outcome(done))
    if indexed.failed:
        raise VectorsPending(
            f"the facts are stored, but {indexed.failed}; they are written again by themselves", saved=response.body()
        )
    return response


# What is kept of the request ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is told, and the messages that the dataset holds already, by their place in the request."""

    telling: Telling
    known: Mapping[int, MessageItem]


async def _kept(core: Core, request: RememberRequest, run: Run) -> _Kept:
    told = [_cleaned(core, one, run) for one in _told(request, run)]
    known = await _known(core, request, run) if request.messages is not None else {}
    telling = Telling(
        tuple(one for one in told if one.place not in known),
        request.kind_of_artifact,
        request.session_id,
        request.session_source,
        conversation=request.messages is not None,
        given=_given(core, request),
    )
    return _Kept(telling, known)


def _told(request: RememberRequest, run: Run) -> list[Told]:
    """The texts, each with its reference time: its own, else that of the request, else when the call was accepted."""
    default = request.reference_time or run.began
    if request.messages is None:
        return [Told(request.text or "", default)]
    return [
        Told(message.text, message.reference_time or default, message.speaker, message.id, place)
        for place, message in enumerate(request.messages)
    ]


def _cleaned(core: Core, told: Told, run: Run) -> Told:
    """The text as it is kept and read; the run notes what the caller should know about it."""
    cleaned, notes = clean(told.text)
    text = str(cleaned)
    reference_time = told.reference_time
    if reference_time.tzinfo is None:
        notes.append("reference_time has no zone and was read as UTC")
        reference_time = utc(reference_time)
    if core.config.mask_secrets:
        text, masked = mask(text)
        notes += [f"masked {masked} secret{'s' if masked > 1 else ''}"] if masked else []
    for note in notes:
        run.note(note)
    return replace(told, text=text, reference_time=reference_time)


async def _known(core: Core, request: RememberRequest, run: Run) -> dict[int, MessageItem]:
    """The messages that need not be remembered, for the dataset holds their ids, by their place in the request."""
    dataset = await core.graph.dataset(request.user_id, request.dataset)
    ids = {place: message.id for place, message in enumerate(request.messages or ()) if message.id}
    held = await core.graph.messages(dataset, list(ids.values()), but_of_run=run.of.run_id) if dataset and ids else {}
    return {
        place: MessageItem(artifact_id=held[name], id=name, known=True) for place, name in ids.items() if name in held
    }


def _given(core: Core, request: RememberRequest) -> Given | None:
    if request.entities is None and request.edges is None:
        return None

    def kept(words: str) -> str:
        return mask(words)[0] if core.config.mask_secrets else words

    return Given(
        tuple(RawEntity(kept(e.name), e.type, kept(e.description)) for e in request.entities or ()),
        tuple(
            RawEdge(kept(e.source), kept(e.target), e.relation, kept(e.description), e.valid_at, e.invalid_at)
            for e in request.edges or ()
        ),
    )


def _choices(request: RememberRequest) -> dict[str, Choice]:
    return {
        stage: Choice(request.models.get(stage, ""), request.reasoning.get(stage, "none"))
        for stage in ("extract_graph", "summarize_chunk", "resolve_edges")
    }


# What is answered -----------------------------------------------------------------------------------------------------


def _terms(request: RememberRequest, kept: _Kept, run: Run, vectors: Mapping[str, int] | None = None) -> Terms:
    return Terms(
        run_id=run.of.run_id,
        kind=request.kind_of_artifact,
        session_id=request.session_id,
        dated=request.reference_time is not None,
        messages=None if request.messages is None else len(request.messages),
        known=kept.known,
        warnings=tuple(run.notes),
        vectors=vectors or {},
    )


def _partly_stored(interrupted: Interrupted, so_far: Response) -> GligabaoError:
    """The failure, with which part it was and what stays stored."""
    failure = interrupted.failure
    failure.message = (
        f"part {interrupted.part + 1} of {interrupted.parts}: {failure.message}; the parts before it stay stored, and "
        "sending the same call again adds no fact twice"
    )
    failure.saved = so_far.body()
    return failure
