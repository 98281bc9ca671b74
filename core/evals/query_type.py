"""query_type_of: whether a query reads what is stated, or finds records by meaning."""

from __future__ import annotations

import re

from core.evals.trace import QueryType

_BY_MEANING = re.compile(r":similarTo\b|#similarTo>")


def query_type_of(sparql: str) -> QueryType:
    """search for a query that finds records by meaning, whatever else it asks of them; sparql for every other."""
    return "search" if _BY_MEANING.search(sparql) else "sparql"
