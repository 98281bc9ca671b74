"""Conditions that the records of a search meet, and the patterns that they are in SPARQL."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from core.core import Core
from core.describe.reading import values_of
from core.embeddings.declare import Path
from core.embeddings.fields import Fields, class_iri_of
from core.errors import InvalidRequest
from core.graph import Dataset
from core.rdf.ports import GraphQuery
from core.rdf.vocabulary import RDF, RDFS

MAX_VALUES = 20
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]+")
_SAME_NAME = 20
"""Records that one name may stand for."""

_Several = Annotated[
    tuple[Path, ...],
    Field(max_length=MAX_VALUES),
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


class SearchFilter(BaseModel):
    """One condition: a class, or a link to other records."""

    # `class` is no name that Python allows.
    model_config = ConfigDict(extra="forbid", frozen=True, validate_by_name=True, validate_by_alias=True)

    class_: Annotated[
        _Several | None, Field(alias="class", description="One of these classes, or a subclass of one.")
    ] = None
    via: Annotated[Path | None, Field(description="A property: a name that the records use, prefixed, or <IRI>.")] = (
        None
    )
    to: Annotated[_Several | None, Field(description="What it leads to: IRIs of records, or their labels.")] = None
    direction: Annotated[Literal["out", "in"], Field(description="in: from those records to the hit.")] = "out"

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        links = (bool(self.via), bool(self.to))
        if any(links) if self.class_ else not all(links):
            raise ValueError("a condition is a class, or via and to")
        return self


async def group_of(core: Core, dataset: Dataset, filters: Sequence[SearchFilter], class_iri: str) -> str:
    """The patterns that `?s` has to meet. `class_iri` is a class whose properties are known by their names. Raises
    InvalidRequest (param `filter`)."""
    patterns: list[str] = []
    for number, condition in enumerate(filters):
        if condition.class_:
            iris = [await class_iri_of(core, dataset, stated) for stated in condition.class_]
            path = f"<{RDF}type>/<{RDFS}subClassOf>*"
            patterns.append(f"VALUES ?class{number} {{ {values_of(iris)} }} ?s {path} ?class{number} .")
        if condition.via and condition.to:
            (via, *more) = await Fields(core, dataset, class_iri).resolve(condition.via, "filter")
            if more:
                raise InvalidRequest("filter: via is one property", param="filter")
            iris = [iri for stated in condition.to for iri in await _records(core, dataset, stated)]
            ends = ("?s", f"?to{number}") if condition.direction == "out" else (f"?to{number}", "?s")
            patterns.append(f"VALUES ?to{number} {{ {values_of(iris)} }} {ends[0]} <{via}> {ends[1]} .")
    return " ".join(patterns)


async def _records(core: Core, dataset: Dataset, stated: str) -> Sequence[str]:
    """The record of an IRI, or those of a label."""
    if _IRI.fullmatch(stated):
        return [stated]
    label = json.dumps(stated.lower(), ensure_ascii=False)
    text = f"SELECT DISTINCT ?s WHERE {{ ?s <{RDFS}label> ?l FILTER(LCASE(STR(?l)) = {label} && isIRI(?s)) }}"
    found = await core.queries.solve(dataset, GraphQuery(text, limit=_SAME_NAME))
    if not found.rows:
        raise InvalidRequest("filter: to names a record by a label that none has", param="filter")
    return [row["s"].value for row in found.rows]
