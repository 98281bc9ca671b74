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
EXTRACT_IMAGE = Stage("extract_image", runs_model=True)
CHUNK_TEXT = Stage("chunk_text")
EXTRACT_GRAPH = Stage("extract_graph", runs_model=True)
SUMMARIZE_CHUNK = Stage("summarize_chunk", runs_model=True)
LOAD_CANDIDATES = Stage("load_candidates", runs_model=True)
RESOLVE_EDGES = Stage("resolve_edges", runs_model=True)
STORE = Stage("store", runs_model=True)
# Documented, and not built yet: they stay not_started.
STORE_SERIES = Stage("store_series")
RESOLVE_GEO = Stage("resolve_geo", runs_model=True, advisory=True)
WEB_SEARCH = Stage("web_search", runs_model=True, advisory=True)
FETCH_SERIES = Stage("fetch_series", runs_model=True, advisory=True)
OBSERVE_SERIES = Stage("observe_series", runs_model=True, advisory=True)

STAGES = (
    CLASSIFY_COMPLEXITY,
    EXTRACT_IMAGE,
    CHUNK_TEXT,
    EXTRACT_GRAPH,
    SUMMARIZE_CHUNK,
    LOAD_CANDIDATES,
    RESOLVE_EDGES,
    STORE,
    STORE_SERIES,
    RESOLVE_GEO,
    WEB_SEARCH,
    FETCH_SERIES,
    OBSERVE_SERIES,
)
