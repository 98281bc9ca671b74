"""An embedding as it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from core.embeddings.ports import Embedding, Spent
from core.embeddings.recipe import RecipeField
from core.graph import Dataset
from core.requests import Response
from core.wire import Time

CHARACTERS_PER_TOKEN = 4


class FieldShown(BaseModel):
    """A field of the records' texts: its IRIs, the word before its values, and how many values are kept."""

    model_config = ConfigDict(frozen=True)

    name: str
    path: tuple[str, ...]
    max: int


class RecipeShown(Response):
    """What is embedded, and with which model."""

    class_: Annotated[str, Field(serialization_alias="class")]
    fields: Sequence[FieldShown]
    model_id: str
    dim: int
    metric: Literal["cosine"] = "cosine"
    title: Sequence[str] | None = None


class UsageShown(BaseModel):
    """What embedding took; tokens are estimated from the characters."""

    model_config = ConfigDict(frozen=True)

    texts: int
    tokens_estimate: int
    cost_usd_estimate: float

    @classmethod
    def of(cls, spent: Spent) -> UsageShown:
        """The counts as they are shown."""
        tokens = -(-spent.characters // CHARACTERS_PER_TOKEN)
        return cls(texts=spent.texts, tokens_estimate=tokens, cost_usd_estimate=round(spent.cost_usd, 8))


class VersionShown(Response):
    """The version that searches read. backfilling: not all records were embedded yet; those that are are found."""

    version: int
    state: Literal["backfilling", "ready"]
    model_id: str
    dim: int
    entries: int
    fields: Sequence[FieldShown]
    runs: int
    usage: UsageShown
    embedded_through_seq: int | None = None


class EmbeddingStatus(Response):
    """An embedding, and how far it follows the commits of its graph."""

    name: str
    class_: Annotated[str, Field(serialization_alias="class")]
    created_at: Time
    updated_at: Time
    recipe: RecipeShown
    serving: VersionShown
    head_seq: int
    published_seq: int
    lag_commits: Annotated[int, Field(description="Commits that its entries are behind.")]

    def body(self) -> dict[str, Any]:
        """The JSON object of the response, as clients read it."""
        return self.model_dump(mode="json", exclude_none=True, by_alias=True)


def status_of(embedding: Embedding, dataset: Dataset) -> EmbeddingStatus:
    """The embedding as it is shown."""
    fields = [_field(field) for field in embedding.recipe.fields]
    return EmbeddingStatus(
        name=embedding.name,
        class_=embedding.recipe.class_iri,
        created_at=embedding.created_at,
        updated_at=embedding.updated_at,
        recipe=RecipeShown(
            class_=embedding.recipe.class_iri,
            fields=fields,
            model_id=embedding.model,
            dim=embedding.dim,
            title=embedding.recipe.title or None,
        ),
        serving=VersionShown(
            version=embedding.version,
            state="backfilling" if embedding.seq is None else "ready",
            model_id=embedding.model,
            dim=embedding.dim,
            entries=embedding.entries,
            fields=fields,
            runs=1 if embedding.entries else 0,
            usage=UsageShown.of(embedding.spent),
            embedded_through_seq=embedding.seq,
        ),
        head_seq=dataset.head_seq,
        published_seq=dataset.head_seq,
        lag_commits=lag_of(embedding, dataset),
    )


def lag_of(embedding: Embedding, dataset: Dataset) -> int:
    """How many commits the entries are behind."""
    return max(0, dataset.head_seq - (embedding.seq or 0))


def _field(field: RecipeField) -> FieldShown:
    return FieldShown(name=field.name, path=field.path, max=field.max)
