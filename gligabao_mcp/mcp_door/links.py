"""Links from the facts of a result to the texts that they came from, for hosts that can open them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types

from core.datasets import DEFAULT_DATASET
from core.query.cursor import Rest
from core.requests import Request
from gligabao_mcp.mcp_door.uris import uri_of

# A model reads each as about 20 tokens, beside the artifact_id that its fact has in any case.
MOST_LINKS = 10


def source_links(request: Request, body: Mapping[str, Any]) -> list[types.ResourceLink]:
    """A link for each artifact that the evidence rests on, in the order of its facts, at most ten; none where the
    result has no evidence."""
    facts = body.get("evidence", {}).get("edges", [])
    sources = list(dict.fromkeys(fact["artifact_id"] for fact in facts if "artifact_id" in fact))
    cursor: str | None = getattr(request, "cursor", None)
    dataset = Rest.read(cursor).dataset if facts and cursor else getattr(request, "dataset", None) or DEFAULT_DATASET
    return [
        types.ResourceLink(type="resource_link", uri=uri_of("artifact", dataset, source), name=f"source {source}")
        for source in sources[:MOST_LINKS]
    ]
