"""The company of CK25: its graph, its questions, and the queries that answer them."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pyoxigraph as ox

from core.core import Core
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRequest
from core.rdf.ports import Load, Loaded

DATA = Path(__file__).parent / "data"
TRIPLES = 26_903
USER, GRAPH = "u1", "company"
RECORD = "http://ld.company.org/prod-instances/"
VOCABULARY = "http://ld.company.org/prod-vocab/"
_QUESTIONS = """
    PREFIX shui: <https://vocab.eccenca.com/shui/>
    PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
    SELECT ?question ?label ?text { ?question a shui:SparqlQuery ; rdfs:label ?label ; shui:queryText ?text }
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, by its number, and the query that answers it."""

    number: int
    words: str
    sparql: str

    @property
    def records(self) -> set[str]:
        """The records that the query names."""
        return set(re.findall(f"<({re.escape(RECORD)}[^>]+)>", self.sparql))


def turtle() -> bytes:
    """The graph."""
    return gzip.decompress((DATA / "prod-inst.ttl.gz").read_bytes())


@cache
def questions() -> Sequence[Question]:
    """All of them, by number."""
    store = ox.Store()
    store.load((DATA / "queries.ttl").read_bytes(), format=ox.RdfFormat.TURTLE)
    found = store.query(_QUESTIONS)
    assert isinstance(found, ox.QuerySolutions)
    read = [
        Question(int(row["question"].value.rpartition("/")[2]), row["label"].value, row["text"].value) for row in found
    ]
    return sorted(read, key=lambda question: question.number)


def question(number: int) -> Question:
    """The question of that number."""
    return next(one for one in questions() if one.number == number)


async def load(core: Core) -> Loaded:
    """The company, loaded in one commit."""
    loaded = await core.triples.load(Load(USER, GRAPH, io.BytesIO(turtle()), "turtle"), core.clock)
    assert isinstance(loaded, Loaded)
    return loaded


async def company(core: Core) -> Dataset:
    """The dataset that holds it."""
    return await graph_of(core, GraphRequest(user_id=USER, dataset=GRAPH))
