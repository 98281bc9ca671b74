"""Which records commits may have given another text, so that only these are read again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.describe.reading import values_of
from core.embeddings.ports import Changed, Embedding
from core.graph import Dataset
from core.rdf.ports import GraphQuery
from core.rdf.vocabulary import RDF, RDFS

if TYPE_CHECKING:
    from core.core import Core

FEW = 1_000
"""Records that are read one by one; where more changed, the whole class is read."""


async def changed_records(core: Core, dataset: Dataset, embedding: Embedding) -> Changed | None:
    """The records whose text may be another than at the commit that the embedding follows; None where these may be any.

    Raises what a query raises.
    """
    from core.graphs.graph_of import base_iri_of  # which needs Core, whose keeper needs this

    # Types and relations are records of these classes, and come and go with what is of them.
    if embedding.seq is None or embedding.recipe.class_iri.startswith((RDF, RDFS)):
        return None
    changed = await core.embeddings.changed(embedding, base_iri_of(core, dataset), core.clock(), FEW)
    links = sorted({field.path[0] for field in embedding.recipe.fields if len(field.path) > 1})
    if changed is None or not links or not (changed.iris or changed.unnamed):
        return changed
    if changed.unnamed:
        return None
    one_hop = "|".join(f"<{iri}>" for iri in links)
    text = f"SELECT DISTINCT ?s WHERE {{ VALUES ?t {{ {values_of(list(changed.iris))} }} ?s {one_hop} ?t }}"
    found = await core.queries.solve(dataset, GraphQuery(text, limit=FEW))
    if found.total > FEW:
        return None
    return replace(changed, iris={*changed.iris, *(row["s"].value for row in found.rows if row["s"].kind == "uri")})
