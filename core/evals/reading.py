"""How evals read a graph: the rows of a query whole, and the names of records."""

from __future__ import annotations

from core.core import Core
from core.errors import InvalidRequest
from core.evals.same_rows import Names
from core.evals.trace import TracedEntailment
from core.graph import Dataset
from core.rdf.ports import GraphQuery
from core.rdf.terms import Solutions
from core.sparql.response import Ran
from core.sparql.sparql import run_sparql

# More rows are no answer that anybody checks.
MAX_COMPARED = 10_000
MAX_COLUMNS = 40
QUERY_SECONDS = 8.0
# Records whose names are looked up; an answer of more is compared by IRIs alone.
MAX_NAMED = 1_000
_TOGETHER = 200
_NAME = "(label|name|title)$"
_LABEL = "#label"


async def rows_of(
    core: Core,
    dataset: Dataset,
    sparql: str,
    entailment: TracedEntailment,
    at_seq: int | None = None,
    seconds: float = QUERY_SECONDS,
) -> Solutions:
    """All rows of a query. Raises InvalidRequest (param `query`) for more than 10,000 or 40 columns, and what
    run_sparql raises."""
    return (await _ran(core, dataset, sparql, entailment, at_seq, seconds)).solutions


async def _ran(
    core: Core, dataset: Dataset, sparql: str, entailment: TracedEntailment, at_seq: int | None, seconds: float
) -> Ran:
    ran = await run_sparql(
        core, dataset, sparql, limit=MAX_COMPARED, entailment=entailment, at_seq=at_seq, seconds=seconds
    )
    if ran.solutions.total > MAX_COMPARED:
        raise InvalidRequest(f"query: has more than {MAX_COMPARED:,} rows, which are not compared", param="query")
    if len(ran.solutions.variables) > MAX_COLUMNS:
        raise InvalidRequest(f"query: has more than {MAX_COLUMNS} columns, which are not compared", param="query")
    return ran


async def read_golden(
    core: Core, dataset: Dataset, sparql: str, entailment: TracedEntailment, at_seq: int | None = None
) -> tuple[str, Solutions]:
    """A query that is to be a golden's, with its PREFIX lines, and its rows. Raises InvalidRequest (param `sparql`) for
    one that can't be run."""
    try:
        ran = await _ran(core, dataset, sparql, entailment, at_seq, QUERY_SECONDS)
    except InvalidRequest as failure:
        raise InvalidRequest(f"sparql: {failure.message.removeprefix('query: ')}", param="sparql") from None
    return ran.checked.text, ran.solutions


async def names_of(core: Core, dataset: Dataset, iris: set[str], at_seq: int | None) -> Names:
    """The names of records: what a property whose name ends in label, name or title says of them, labels first. Nothing
    for more than 1,000 records."""
    listed = sorted(iris) if len(iris) <= MAX_NAMED else []
    found: dict[str, dict[str, None]] = {}
    for start in range(0, len(listed), _TOGETHER):
        values = " ".join(f"<{iri}>" for iri in listed[start : start + _TOGETHER])
        text = (
            f"SELECT ?s ?p ?name WHERE {{ VALUES ?s {{ {values} }} ?s ?p ?name "
            f'FILTER(isLiteral(?name) && REGEX(STR(?p), "{_NAME}", "i")) }}'
        )
        solutions = await core.queries.solve(dataset, GraphQuery(text, seconds=QUERY_SECONDS), at_seq=at_seq)
        for row in sorted(solutions.rows, key=lambda row: (not row["p"].value.endswith(_LABEL), row["name"].value)):
            found.setdefault(row["s"].value, {})[row["name"].value] = None
    return {iri: tuple(names) for iri, names in found.items()}
