"""names: the records that a question names, for an agent that writes its own queries."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from core.core import Core
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRead
from core.names.index import By
from core.names.link import link
from core.names.read import ReadNames, Reason
from core.requests import Offset, Response, Spoken, Whole

MAX_TEXT = 4_000
# Candidates of one name.
LINKED = 3


class NamesRequest(GraphRead):
    """A question, or names."""

    text: Annotated[
        Spoken, Field(min_length=1, max_length=MAX_TEXT, description="A question, or names: 1 to 4,000 characters.")
    ]
    limit: Annotated[Whole, Field(ge=1, le=10, description="Candidates for each name, 1 to 10. Default: 5.")] = 5
    min_commit_seq: Annotated[
        Offset | None,
        Field(description="The commit of your write: waits a few seconds until the names reach it, else fails."),
    ] = None


class Candidate(BaseModel):
    """A record that words of the text may name. Candidates of the same words follow each other, the best first."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True)

    text: Annotated[str, Field(description="The words of the text.")]
    iri: str
    label: str | None = None
    class_: Annotated[str, Field(alias="class", description="The class that the name was read under.")]
    score: Annotated[float, Field(description="How well the words match the name, 0 to 1.")]
    by: Annotated[By, Field(description="exact; partial: part of the name; fuzzy: spelled otherwise; acronym.")]


class IndexGap(BaseModel):
    """A class whose names were not read in full."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True)

    class_: Annotated[str, Field(alias="class")]
    reason: Reason


class NamesResponse(Response):
    """The records that the text names, in its order."""

    candidates: Sequence[Candidate]
    commit_seq: Annotated[int, Field(description="Every commit up to this one is in the index of names.")]
    index_ready: Annotated[bool, Field(description="False: the names are being read; ask again in a few seconds.")]
    index_complete: Annotated[bool | None, Field(description="Whether every class was read in full.")] = None
    index_gaps: Annotated[Sequence[IndexGap] | None, Field(description="Those that were not, and why.")] = None
    index_names: Annotated[int | None, Field(description="How many names there are.")] = None
    index_classes_read: int | None = None
    ms: int


@dataclass(frozen=True, slots=True)
class Linked:
    """The records that a text names. `seq`: up to which commit names are known; `names`: how many these are. `ready` is
    False where they were not read yet: then nothing is linked."""

    candidates: Sequence[Candidate]
    seq: int
    names: int
    ready: bool = True


async def link_names(core: Core, dataset: Dataset, text: str, limit: int = LINKED, *, phrase: bool = False) -> Linked:
    """The records that a text names, at most `limit` for each name, the best first, in the order of the text. No model
    is called. `phrase`: the text is a name, or one in each line, and no sentence. Raises what a query raises."""
    read = await core.names.get(core, dataset)
    if read is None:
        return Linked((), 0, 0, ready=False)
    candidates = await core.names.in_turn(lambda: _candidates(text, read, limit, phrase=phrase))
    return Linked(candidates, read.seq, len(read.index))


async def names(core: Core, request: NamesRequest) -> NamesResponse:
    """Find the records that a question names: people, companies, projects. Put their IRIs into the query.

    Letter case, accents, punctuation and legal forms make no difference, and one or two letters may be others. No model
    is called.
    """
    began = time.perf_counter()
    dataset = await graph_of(core, request)
    read = await core.names.get(core, dataset, request.min_commit_seq)
    if read is None:
        return NamesResponse(candidates=(), commit_seq=0, index_ready=False, ms=_ms_since(began))
    candidates = await core.names.in_turn(lambda: _candidates(request.text, read, request.limit))
    return NamesResponse(
        candidates=candidates,
        commit_seq=read.seq,
        index_ready=True,
        index_complete=not read.gaps,
        index_gaps=[IndexGap(class_=gap.class_, reason=gap.reason) for gap in read.gaps],
        index_names=len(read.index),
        index_classes_read=read.classes_read,
        ms=_ms_since(began),
    )


def _ms_since(began: float) -> int:
    return round(1000 * (time.perf_counter() - began))


def _candidates(text: str, read: ReadNames, limit: int, *, phrase: bool = False) -> Sequence[Candidate]:
    return [
        Candidate(
            text=one.text,
            iri=hit.name.iri,
            label=hit.name.label,
            class_=hit.name.class_,
            score=hit.score,
            by=hit.by,
        )
        for one in link(text, read.index, read.plain, phrase=phrase)
        for hit in one.hits[:limit]
    ]
