"""A query through the gate, with the prefixes that its dataset knows."""

from __future__ import annotations

from collections.abc import Collection
from itertools import pairwise

from core.core import Core
from core.describe.description import prefixes_for
from core.graph import Dataset
from core.graphs.graph_of import base_iri_of
from core.rdf.gate import MAX_QUERY, Checked, checked
from core.rdf.tokens import is_read, tokens
from core.rdf.vocabulary import WELL_KNOWN, prefixes_of


async def checked_for(core: Core, dataset: Dataset, text: str) -> Checked:
    """The query with the PREFIX lines that it lacks.

    Raises InvalidRequest (param `query`) for one that may not run, and what reading the graph's own prefixes raises.
    """
    known = {**WELL_KNOWN, **prefixes_of(base_iri_of(core, dataset))}
    if _uses_others(text[:MAX_QUERY], known):
        known |= await prefixes_for(core, dataset)
    return checked(text, known)


def _uses_others(text: str, known: Collection[str]) -> bool:
    """Whether it uses a prefix that it does not declare and that is none of these: then the graph's own are read, which
    takes longer."""
    read = [token for token in tokens(text) if is_read(token)]
    declared = {name.prefix for word, name in pairwise(read) if word.kind == "word" and word.folded == "prefix"}
    return any(token.kind == "name" and token.prefix not in declared and token.prefix not in known for token in read)
