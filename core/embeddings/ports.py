"""What the core asks of the store of embeddings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from core.embeddings.recipe import Recipe
from core.graph import Dataset


@dataclass(frozen=True, slots=True)
class Spent:
    """What embedding took so far."""

    texts: int = 0
    characters: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.texts + other.texts, self.characters + other.characters, self.cost_usd + other.cost_usd)


@dataclass(frozen=True, slots=True)
class Embedding:
    """A class whose records can be searched by meaning. `version` counts its declarations: each is embedded anew.

    `seq` is the commit up to which its entries are there; None until all were there once.
    """

    id: int
    dataset_id: int
    name: str
    recipe: Recipe
    model: str
    dim: int
    version: int
    seq: int | None
    entries: int
    spent: Spent
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class NewEntry:
    """A record's text and its vector."""

    iri: str
    text: str
    digest: str
    vector: bytes


@dataclass(frozen=True, slots=True)
class Near:
    """A record that is near in meaning: its cosine similarity, -1 to 1, and the embedding that holds it."""

    iri: str
    score: float
    embedding: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """The records that commits up to `seq`, or the clock, may have changed, by IRI. `unnamed`: so may be some that have
    none."""

    seq: int
    iris: Collection[str]
    unnamed: bool = False


class EmbeddingStore(Protocol):
    """Keeps the embeddings of datasets and their entries, and brings the vectors to the index."""

    async def all(self, dataset: Dataset) -> list[Embedding]:
        """Those of a dataset, by name."""
        ...

    async def declare(
        self, dataset: Dataset, name: str, recipe: Recipe, model: str, dim: int, clock: Callable[[], datetime]
    ) -> Embedding:
        """Stores a declaration; the dataset is created if it is not there. Another recipe or model than the stored one
        is a new version, without entries yet."""
        ...

    async def delete(self, embedding: Embedding) -> None:
        """Takes it away with its entries and vectors."""
        ...

    async def behind(self) -> list[tuple[Dataset, Embedding]]:
        """Those that follow an earlier commit than the newest one of their dataset, or were never whole."""
        ...

    async def is_any(self) -> bool:
        """Whether any dataset has one."""
        ...

    async def claim(self, embedding: Embedding) -> bool:
        """Whether this process may embed for it from now on for a minute. One process at a time may; it claims it again
        to go on. Nobody may for a dataset that was forgotten."""
        ...

    async def release(self, embedding: Embedding) -> None:
        """Ends the claim of this process."""
        ...

    async def changed(self, embedding: Embedding, base: str, now: datetime, most: int) -> Changed | None:
        """The records that may have changed since the commit that the embedding follows, the IRIs of what was
        remembered under `base`. None where they are more than `most`, or nobody knows which they are."""
        ...

    async def digests(self, embedding: Embedding, iris: Collection[str] | None = None) -> dict[str, str]:
        """The digest of the text of every entry, or of those of some records, by its IRI."""
        ...

    async def write(self, embedding: Embedding, entries: Sequence[NewEntry], gone: Sequence[str], spent: Spent) -> bool:
        """Stores entries and takes others away in one transaction, then brings the vectors to the index. False, and
        nothing is stored, where the embedding is not there in this version any more. Raises IndexUnavailable."""
        ...

    async def follow(self, embedding: Embedding, seq: int) -> None:
        """Its entries are there up to that commit; nothing is stored where it follows another one meanwhile than
        `embedding.seq`."""
        ...

    async def nearest(
        self, embedding: Embedding, vector: bytes, limit: int, among: Sequence[str] | None = None
    ) -> list[Near]:
        """The records that are nearest to a vector, of all or of these, most similar first. Raises IndexUnavailable."""
        ...

    async def vector(self, embedding: Embedding, iri: str) -> bytes | None:
        """The vector of a record, where it has one. Raises IndexUnavailable."""
        ...
