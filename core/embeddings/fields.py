"""Fields as a declaration names them, and the properties of the graph that they mean."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from core.core import Core
from core.describe.description import prefixes_for
from core.describe.prefixes import local_name
from core.embeddings.recipe import RecipeField
from core.embeddings.records import path_of
from core.errors import InvalidRequest
from core.graph import Dataset
from core.graphs.graph_of import base_iri_of
from core.rdf.ports import GraphQuery
from core.rdf.terms import Row
from core.rdf.vocabulary import GB, RDF, RDFS, XSD, type_iri

USUAL_VALUES = 10
MAX_PATH = 2
# What a bare name means where no record has a property of that name.
_USUAL = {"label": f"{RDFS}label", "description": f"{GB}description", "comment": f"{RDFS}comment"}
# Of a sample, the properties that at least one in ten records has are chosen where a declaration names none.
_SAMPLE = 1_000
_LEAST_SHARE = 0.1
_MAX_CHOSEN = 12
_NAMED = 20
_IRI = re.compile(r"<([A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]*)>")
_STEP = re.compile(r"<[^>]*>|[^/<>\s]+")


class Fields:
    """The properties that the records of one class have, and which of them a declaration means."""

    def __init__(self, core: Core, dataset: Dataset, class_iri: str) -> None:
        self._core = core
        self._dataset = dataset
        self._records = f"?s a <{class_iri}>"
        self._sample = f"{{ SELECT DISTINCT ?s WHERE {{ {self._records} }} LIMIT {_SAMPLE} }}"

    async def resolve(self, path: str, param: str) -> tuple[str, ...]:
        """The IRIs of a path: a property, or a link and a property of what it leads to. Each step is the name of a
        property that the records have, a prefixed name, or an <IRI>.

        Raises InvalidRequest (`param`), with the names that there are.
        """
        steps = _STEP.findall(path)
        if not 1 <= len(steps) <= MAX_PATH or "/".join(steps) != path.strip():
            raise InvalidRequest(f"{param}: a path is a property, or a link and a property: calls/label", param=param)
        resolved: tuple[str, ...] = ()
        for step in steps:
            resolved += (await self._step(step, resolved, param),)
        return resolved

    async def chosen(self, exclude: Collection[str]) -> list[RecipeField]:
        """What the records are known by, where a declaration names no fields: their label, the texts that many of them
        have, and the labels of what many are linked to."""
        label = _USUAL["label"]
        size = await self._rows(f"SELECT (COUNT(*) AS ?n) WHERE {{ {self._sample} }}")
        least = _LEAST_SHARE * int(size[0]["n"].value)
        texts = await self._frequent("?s ?p ?v FILTER(DATATYPE(?v) = xsd:string || LANG(?v) != '')", least)
        links = await self._frequent(f"?s ?p ?t . ?t <{label}> ?v FILTER(?p != rdf:type)", least)
        paths = [(label,), *((iri,) for iri in texts if iri != label), *((iri, label) for iri in links)]
        left = [path for path in paths if not {path[0], f"<{path[0]}>", local_name(path[0])} & {*exclude}]
        return [RecipeField(local_name(path[0]), path, USUAL_VALUES) for path in left[:_MAX_CHOSEN]]

    async def _step(self, step: str, before: Sequence[str], param: str) -> str:
        if iri := _IRI.fullmatch(step):
            return iri[1]
        prefix, colon, local = step.partition(":")
        if colon:
            return await self._prefixed(prefix, local, param)
        used = await self._properties(before)
        usual = _USUAL.get(step, "")
        # A label is the one that everything has, whatever else is called so.
        is_label = step == "label" and usual in used
        found = usual if is_label else next((iri for iri in used if local_name(iri) == step), usual)
        if not found:
            names = ", ".join(dict.fromkeys(local_name(iri) for iri in used[:_NAMED])) or "none yet"
            raise InvalidRequest(
                f"{param}: the records have no property of a name in it; theirs are {names}", param=param
            )
        return found

    async def _prefixed(self, prefix: str, local: str, param: str) -> str:
        namespace = (await prefixes_for(self._core, self._dataset)).get(prefix)
        if namespace is None or not _IRI.fullmatch(f"<{namespace}{local}>"):
            raise InvalidRequest(f"{param}: has a prefix that the graph does not know; write <IRI>", param=param)
        return f"{namespace}{local}"

    async def _properties(self, before: Sequence[str]) -> list[str]:
        """The properties of the records, or of what the path leads to; the most frequent first."""
        to = f"?s {path_of(before)} ?t ." if before else ""
        whose = "?t" if before else "?s"
        body = f"{self._records} . {to} {whose} ?p ?v"
        return [row["p"].value for row in await self._rows(_counted(body))]

    async def _frequent(self, body: str, least: float) -> list[str]:
        rows = await self._rows(_counted(f"{self._sample} {body}"))
        return [row["p"].value for row in rows if int(row["n"].value) >= least]

    async def _rows(self, text: str) -> Sequence[Row]:
        return (await self._core.queries.solve(self._dataset, GraphQuery(_PREFIXES + text))).rows


async def class_iri_of(core: Core, dataset: Dataset, stated: str) -> str:
    """The class that a declaration names: by its IRI, by a prefixed name, or a type of what was remembered by its name.
    Raises InvalidRequest."""
    prefix, colon, local = stated.partition(":")
    if colon and not local.startswith("//") and (known := (await prefixes_for(core, dataset)).get(prefix)):
        stated = f"{known}{local}"
    elif not colon:
        stated = type_iri(base_iri_of(core, dataset), stated)
    found = _IRI.fullmatch(stated if stated.startswith("<") else f"<{stated}>")
    if found is None:
        raise InvalidRequest("class: must be an IRI, a prefixed name, or the name of a type", param="class")
    return found[1]


_PREFIXES = f"PREFIX rdf: <{RDF}> PREFIX xsd: <{XSD}>\n"


def _counted(body: str) -> str:
    return f"SELECT ?p (COUNT(DISTINCT ?s) AS ?n) WHERE {{ {body} }} GROUP BY ?p ORDER BY DESC(?n) ?p"
