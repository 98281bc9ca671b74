"""The stages of remember, in order: what each is, in one table. The log, the docs and the tests read it here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of remember. An advisory one may fail without failing the call."""

    name: str
    runs_model: bool = False
    advisory: bool = False


CLASSIFY_COMPLEXITY = Stage("classify_complexity", runs_model=True, advisory=True)
EXTRACT_GRAPH = Stage("extract_graph", runs_model=True)
LOAD_CANDIDATES = Stage("load_candidates", runs_model=True)
RESOLVE_EDGES = Stage("resolve_edges", runs_model=True)
STORE = Stage("store", runs_model=True)

STAGES = (CLASSIFY_COMPLEXITY, EXTRACT_GRAPH, LOAD_CANDIDATES, RESOLVE_EDGES, STORE)
