"""Declaring an embedding: which fields of a class's records are embedded."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from core.core import Core
from core.describe.prefixes import local_name
from core.embeddings.fields import USUAL_VALUES, Fields, class_iri_of
from core.embeddings.ports import Embedding
from core.embeddings.recipe import Recipe, RecipeField
from core.embeddings.status import EmbeddingStatus, status_of
from core.errors import InvalidRequest, NotConfigured
from core.graph import Dataset
from core.graphs.graph_of import graph_of
from core.graphs.requests import GraphRequest
from core.ports import Embedder
from core.rdf.gate import OF_FACTS
from core.requests import Whole

MAX_FIELDS = 20
MAX_VALUES = 100
MAX_PATH = 2_000
"""Characters of a path, and of a class."""
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError("must be 1 to 63 characters of a-z, 0-9 and -, and not begin with -")
    return value


Name = Annotated[str, AfterValidator(_name), Field(description="The name of the embedding.")]
Path = Annotated[str, Field(min_length=1, max_length=MAX_PATH)]


class FieldStated(BaseModel):
    """A field by its path, with the word before its values and how many of them are kept."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path
    name: Annotated[str | None, Field(min_length=1, max_length=100, description="Default: the property's.")] = None
    max: Annotated[int, Field(ge=1, le=MAX_VALUES, description="Values of one record, 1 to 100.")] = USUAL_VALUES


_AnyField = Annotated[
    FieldStated,
    BeforeValidator(lambda value: {"path": value} if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, FieldStated.model_json_schema()]}),
]


class DeclareEmbeddingRequest(GraphRequest):
    """A class, and what of its records is embedded. Of one that is there, what is not named stays."""

    # `class` and `from` are no names that Python allows.
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    class_: Annotated[Path, Field(alias="class", description="Its IRI, or the name of a type that was remembered.")]
    name: Annotated[Name | None, Field(description="Default: the class's own, in small letters.")] = None
    from_: Annotated[
        tuple[_AnyField, ...] | None,
        Field(
            alias="from",
            max_length=MAX_FIELDS,
            description="The fields of a record's text, in order: label, description, another property, or a link and "
            "a property behind it such as calls/label. Default: the label, frequent texts, and labels behind links.",
        ),
    ] = None
    exclude: Annotated[
        tuple[Path, ...], Field(max_length=MAX_FIELDS, description="Properties that are not chosen by themselves.")
    ] = ()
    title: Annotated[Path | None, Field(description="The path of what names a hit. Default: its label.")] = None
    model: Annotated[str | None, Field(max_length=200, description="The embedding model of this server.")] = None
    dim: Annotated[Whole | None, Field(ge=1, description="The length of its vectors.")] = None


async def declare_embedding(core: Core, request: DeclareEmbeddingRequest) -> EmbeddingStatus:
    """Make the records of a class searchable by meaning: says which of their fields are embedded. They are embedded in
    the background, and again after each commit that changes them."""
    embedder = _embedder(core, request)
    dataset = await graph_of(core, request)
    class_iri = await class_iri_of(core, dataset, request.class_)
    if class_iri in OF_FACTS:
        raise InvalidRequest("class: facts and artifacts are no records that can be embedded", param="class")
    name = request.name or _slug(local_name(class_iri))
    before = next((one for one in await core.embeddings.all(dataset) if one.name == name), None)
    recipe = await _recipe(core, dataset, request, class_iri, before)
    declared = await core.embeddings.declare(dataset, name, recipe, embedder.model, embedder.dim, core.clock)
    core.keeper.wake()
    return status_of(declared, await graph_of(core, request))


def _embedder(core: Core, request: DeclareEmbeddingRequest) -> Embedder:
    embedder = core.embedder
    if embedder is None:
        raise no_embedder()
    for param, stated, own in (("model", request.model, embedder.model), ("dim", request.dim, embedder.dim)):
        if stated not in (None, own):
            raise InvalidRequest(f"{param}: this server embeds with {embedder.model}, {embedder.dim}", param=param)
    return embedder


def no_embedder() -> NotConfigured:
    """What is raised where nobody makes vectors."""
    return NotConfigured("no embedder is set: OPENAI_API_KEY, embedding_base_url or embedder = local")


async def _recipe(
    core: Core, dataset: Dataset, request: DeclareEmbeddingRequest, class_iri: str, before: Embedding | None
) -> Recipe:
    known = before.recipe if before and before.recipe.class_iri == class_iri else None
    fields = Fields(core, dataset, class_iri)
    title = known.title if known else ()
    if request.title is not None:
        title = await fields.resolve(request.title, "title")
    if not request.from_:
        chosen = known.fields if known else tuple(await fields.chosen(request.exclude))
        if not chosen:
            raise InvalidRequest("exclude: leaves no field; name fields in from", param="exclude")
        return Recipe(class_iri, chosen, title)
    return Recipe(class_iri, tuple([await _field(fields, field) for field in request.from_]), title)


async def _field(fields: Fields, field: FieldStated) -> RecipeField:
    path = await fields.resolve(field.path, "from")
    return RecipeField(field.name or local_name(path[0]), path, field.max)


def _slug(name: str) -> str:
    """A name for an embedding from that of its class."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:63] or "records"
