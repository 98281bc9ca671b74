"""search: the records whose meaning is nearest to some words."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from core.core import Core
from core.describe.prefixes import local_name
from core.describe.reading import values_of
from core.embeddings.declare import Name
from core.embeddings.narrowing import SearchFilter, group_of
from core.embeddings.ports import Embedding, Near
from core.embeddings.records import path_of, texts_of
from core.embeddings.status import UsageShown, lag_of
from core.errors import InvalidRequest, NoEmbedding, NotYetVisible
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRequest
from core.rdf.ports import GraphQuery
from core.rdf.vocabulary import RDFS
from core.requests import Offset, Response, Spoken, Whole
from core.sparql.meaning import find
from core.sparql.similar import MAX_TOP, MAX_WORDS, USUAL_TOP, Similar, Target

MAX_FILTERS = 10
WAIT = 5.0
_POLL = 0.1


class SearchRequest(GraphRequest):
    """What is searched for, and among which records."""

    text: Annotated[Spoken, Field(max_length=MAX_WORDS, description="The words, 1 to 8,000 characters.")]
    embedding: Annotated[Name | None, Field(description="Only the records of this embedding. Default: all.")] = None
    top_k: Annotated[Whole, Field(ge=1, le=MAX_TOP, description="How many records, 1 to 1,000. Default: 10.")] = (
        USUAL_TOP
    )
    filter: Annotated[
        tuple[SearchFilter, ...], Field(max_length=MAX_FILTERS, description="What every record has to meet.")
    ] = ()
    include: Annotated[tuple[Literal["text"], ...], Field(description="text: also the text that was embedded.")] = ()
    min_commit_seq: Annotated[
        Offset | None, Field(description="Wait some seconds until the entries follow this commit.")
    ] = None
    rerank: Annotated[Literal[False], Field(description="Not served: hits are in the order of their score.")] = False


class SearchHit(Response):
    """A record, and how similar its text is: 1 is the same, 0 has nothing to do with it."""

    id: str
    iri: str
    label: str
    score: float
    class_: Annotated[str, Field(serialization_alias="class")]
    embedding: str
    text: str | None = None


class SearchedEmbedding(Response):
    """An embedding that was searched, and how far it follows the graph."""

    name: str
    class_: Annotated[str, Field(serialization_alias="class")]
    version: int
    model_id: str
    hits: int
    embedded_through_seq: int | None = None
    lag_commits: int


class SearchResponse(Response):
    """The nearest records, the most similar first."""

    hits: list[SearchHit]
    embeddings: list[SearchedEmbedding]
    not_ready: Annotated[list[str] | None, Field(description="Embeddings that do not hold all records yet.")] = None
    entries_considered: int
    clusters_probed: int = 0
    dropped_by_graph: Annotated[int, Field(description="Near records that left the graph, or do not meet the filter.")]
    head_seq: int
    served_at_seq: int
    lag_commits: int
    query_ms: int
    usage: UsageShown

    def body(self) -> dict[str, Any]:
        """The JSON object of the response, as clients read it."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)


async def search(core: Core, request: SearchRequest) -> SearchResponse:
    """Search the records of the graph by meaning: those whose texts are nearest to some words."""
    began = time.monotonic()
    dataset = await graph_of(core, request)
    named = await _named(core, dataset, request)
    similar = Similar(
        variable="s",
        target=Target(words=request.text),
        top=request.top_k,
        prologue="",
        head="SELECT ?s WHERE ",
        group=await group_of(core, dataset, request.filter, named[0].recipe.class_iri),
        tail="",
        score=None,
        embedding=request.embedding,
    )
    found = await find(core, dataset, similar, GraphQuery(""))
    by_name = {one.name: one for one in found.embeddings}
    labels = await _labels(core, dataset, found.hits, by_name)
    shown = found.hits if "text" in request.include else ()
    texts = await _texts(core, dataset, shown, by_name)
    report = found.report
    return SearchResponse(
        hits=[_hit(hit, by_name[hit.embedding], labels, texts) for hit in found.hits],
        embeddings=[_searched(one, dataset, found.hits) for one in found.embeddings],
        not_ready=[one.name for one in found.embeddings if one.seq is None] or None,
        entries_considered=report.entries_considered,
        dropped_by_graph=found.dropped,
        head_seq=dataset.head_seq,
        served_at_seq=dataset.head_seq,
        lag_commits=report.lag_commits,
        query_ms=round(1000 * (time.monotonic() - began)),
        usage=report.usage,
    )


async def _named(core: Core, dataset: Dataset, request: SearchRequest) -> Sequence[Embedding]:
    """The embeddings to search, as soon as they follow the commit that is asked for."""
    until = time.monotonic() + WAIT
    if request.min_commit_seq:
        core.keeper.wake()
    while True:
        there = await core.embeddings.all(dataset)
        if not there:
            raise NoEmbedding("no class of this graph can be searched by meaning yet (PUT /v1/embeddings)")
        named = [one for one in there if request.embedding in (None, one.name)]
        if not named:
            raise InvalidRequest(f"embedding: is none of {', '.join(one.name for one in there)}", param="embedding")
        if all((one.seq or 0) >= (request.min_commit_seq or 0) for one in named):
            return named
        if time.monotonic() > until:
            raise NotYetVisible("min_commit_seq: the embedding does not follow that commit yet", param="min_commit_seq")
        await asyncio.sleep(_POLL)


async def _labels(
    core: Core, dataset: Dataset, hits: Sequence[Near], by_name: Mapping[str, Embedding]
) -> Mapping[str, str]:
    """What names each record: its title, else its label."""
    labels: dict[str, str] = {}
    for name, iris in _by_embedding(hits).items():
        paths = dict.fromkeys([(f"{RDFS}label",), by_name[name].recipe.title or (f"{RDFS}label",)])
        for path in paths:
            text = f"SELECT ?s (MIN(STR(?l)) AS ?label) WHERE {{ VALUES ?s {{ {values_of(iris)} }} "
            found = await core.queries.solve(dataset, GraphQuery(f"{text} ?s {path_of(path)} ?l }} GROUP BY ?s"))
            labels |= {row["s"].value: row["label"].value for row in found.rows if "label" in row}
    return labels


async def _texts(
    core: Core, dataset: Dataset, hits: Sequence[Near], by_name: Mapping[str, Embedding]
) -> Mapping[str, str]:
    texts: dict[str, str] = {}
    for name, iris in _by_embedding(hits).items():
        texts |= (await texts_of(core.queries, dataset, by_name[name].recipe, iris)).texts
    return texts


def _by_embedding(hits: Sequence[Near]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for hit in hits:
        found.setdefault(hit.embedding, []).append(hit.iri)
    return found


def _hit(hit: Near, embedding: Embedding, labels: Mapping[str, str], texts: Mapping[str, str]) -> SearchHit:
    return SearchHit(
        id=hashlib.sha256(hit.iri.encode()).hexdigest()[:32],
        iri=hit.iri,
        label=labels.get(hit.iri) or local_name(hit.iri),
        score=hit.score,
        class_=embedding.recipe.class_iri,
        embedding=hit.embedding,
        text=texts.get(hit.iri),
    )


def _searched(embedding: Embedding, dataset: Dataset, hits: Sequence[Near]) -> SearchedEmbedding:
    return SearchedEmbedding(
        name=embedding.name,
        class_=embedding.recipe.class_iri,
        version=embedding.version,
        model_id=embedding.model,
        hits=sum(hit.embedding == embedding.name for hit in hits),
        embedded_through_seq=embedding.seq,
        lag_commits=lag_of(embedding, dataset),
    )
