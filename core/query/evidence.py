"""Evidence: what an answer cites, checked against what it was shown."""

from __future__ import annotations

from core.graph import Edge, Entity
from core.ports import Answer
from core.query.subgraph import Subgraph


def verify(answer: Answer, subgraph: Subgraph) -> Subgraph:
    """The cited rows that were really shown, each once, ordered by id; the ends of every cited fact among them."""
    edges = {e.id: e for e in subgraph.edges}
    entities = {e.id: e for e in subgraph.entities}
    cited = [edges[i] for i in sorted(set(answer.edges)) if i in edges]
    named = {*answer.entities, *(i for edge in cited for i in (edge.source_id, edge.target_id))}
    return Subgraph(tuple(entities[i] for i in sorted(named) if i in entities), tuple(cited))


def is_grounded(answer: Answer, evidence: Subgraph) -> bool:
    """False when the answer cited rows and none of them had been shown to it."""
    rows: tuple[Entity | Edge, ...] = (*evidence.entities, *evidence.edges)
    return bool(rows) or not (answer.entities or answer.edges)
