"""The records of a class and the texts that a recipe makes of them, read from the graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass

from core.describe.prefixes import local_name
from core.describe.reading import values_of
from core.embeddings.recipe import Recipe
from core.graph import Dataset
from core.rdf.ports import MAX_ROWS, GraphQueries, GraphQuery
from core.rdf.terms import Term

AT_ONCE = 500
"""Records whose fields are read by one query."""
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class RecordTexts:
    """The texts of some records by their IRIs, and the lowest commit that they were read at."""

    texts: dict[str, str]
    seq: int


async def texts_among(
    queries: GraphQueries, dataset: Dataset, recipe: Recipe, iris: Collection[str]
) -> AsyncGenerator[RecordTexts]:
    """The texts of those of some records that are of the class, as `record_texts` gives them."""
    listed = sorted(iris)
    for start in range(0, len(listed), AT_ONCE):
        some = values_of(listed[start : start + AT_ONCE])
        text = f"SELECT DISTINCT ?s WHERE {{ VALUES ?s {{ {some} }} ?s a <{recipe.class_iri}> }}"
        found = await queries.solve(dataset, GraphQuery(text, seconds=_SECONDS))
        yield await texts_of(queries, dataset, recipe, [row["s"].value for row in found.rows])


async def record_texts(queries: GraphQueries, dataset: Dataset, recipe: Recipe) -> AsyncGenerator[RecordTexts]:
    """The texts of all records of the class, some hundred at a time, at least once; those without a value in any field
    are left out.

    Raises QueryTimeout, QueryTooLarge and QueriesUnavailable.
    """
    after = ""
    while True:
        found = await queries.solve(dataset, GraphQuery(_records(recipe.class_iri, after), seconds=_SECONDS))
        iris = [row["s"].value for row in found.rows]
        for start in range(0, max(1, len(iris)), AT_ONCE):
            some = await texts_of(queries, dataset, recipe, iris[start : start + AT_ONCE])
            yield RecordTexts(some.texts, min(found.seq, some.seq))
        if found.complete or not iris:
            return
        after = iris[-1]


def _records(class_iri: str, after: str) -> str:
    behind = f" && STR(?s) > STR(<{after}>)" if after else ""
    return f"SELECT DISTINCT ?s WHERE {{ ?s a <{class_iri}> FILTER(isIRI(?s){behind}) }} ORDER BY STR(?s)"


async def texts_of(queries: GraphQueries, dataset: Dataset, recipe: Recipe, iris: Sequence[str]) -> RecordTexts:
    """The texts of these records."""
    found = await queries.solve(dataset, GraphQuery(_values(recipe, iris), limit=MAX_ROWS, seconds=_SECONDS))
    values: defaultdict[str, defaultdict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in found.rows:
        values[row["s"].value][int(row["f"].value)].append(in_words(row["v"]))
    texts = {iri: recipe.text_of(fields) for iri, fields in values.items()}
    return RecordTexts({iri: text for iri, text in texts.items() if text}, found.seq)


def _values(recipe: Recipe, iris: Sequence[str]) -> str:
    fields = " UNION ".join(
        f"{{ ?s {path_of(field.path)} ?v BIND({number} AS ?f) }}" for number, field in enumerate(recipe.fields)
    )
    return f"SELECT ?s ?f ?v WHERE {{ VALUES ?s {{ {values_of(iris)} }} {fields} FILTER(!isBlank(?v)) }}"


def path_of(path: Sequence[str]) -> str:
    """A path as SPARQL writes it."""
    return "/".join(f"<{iri}>" for iri in path)


def in_words(term: Term) -> str:
    """A value as a person says it: a literal's text; of a record the last part of its IRI."""
    return local_name(term.value) if term.kind == "uri" else term.value
