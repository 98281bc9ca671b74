"""What a query answers, as the document of POST /v1/query/sparql-text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from core.rdf.gate import Checked
from core.rdf.ports import MAX_ROWS
from core.rdf.terms import Solutions
from core.requests import Response
from core.sparql.report import SearchReport


class RowPage(BaseModel):
    """Which of the rows these are. `total` counts the rows of the whole query; where counting stopped at the most rows
    that are counted, there are more than it says and `complete` is false."""

    model_config = ConfigDict(frozen=True)

    returned: int
    total: int
    limit: int
    offset: int
    has_more: bool
    next_offset: int | None = None
    complete: Annotated[bool | None, Field(description="False where there are more rows than total says.")] = None


class Snapshot(BaseModel):
    """The commit that was read."""

    model_config = ConfigDict(frozen=True)

    commit_seq: int
    compacted_seq: int
    served_at_seq: int
    as_of_commit_seq: int | None = None


class SparqlResponse(Response):
    """The rows of a query."""

    results: Annotated[str, Field(description="SPARQL 1.1 Query Results JSON, as a string.")]
    row_page: RowPage
    snapshot: Snapshot
    search: SearchReport | None = None
    next_cursor: Annotated[str | None, Field(description="Send it as cursor for the next page.")] = None
    trace_id: Annotated[str | None, Field(description="The eval trace, where request was sent.")] = None


@dataclass(frozen=True, slots=True)
class Ran:
    """A query that ran: its text with its PREFIX lines, its rows, and both as the route answers them."""

    checked: Checked
    solutions: Solutions
    response: SparqlResponse

    @property
    def search(self) -> SearchReport | None:
        """What its search by meaning did, where it holds one."""
        return self.response.search


def response_of(
    solutions: Solutions, limit: int | None, offset: int, at_seq: int | None, search: SearchReport | None
) -> SparqlResponse:
    """The document for rows that were read from `offset` on, at most `limit` of them."""
    return SparqlResponse(
        results=json.dumps(solutions.results(), ensure_ascii=False, separators=(",", ":")),
        row_page=_page(solutions, limit, offset),
        snapshot=Snapshot(
            commit_seq=solutions.seq,
            compacted_seq=solutions.seq,
            served_at_seq=solutions.seq,
            as_of_commit_seq=at_seq,
        ),
        search=search,
    )


def _page(solutions: Solutions, limit: int | None, offset: int) -> RowPage:
    returned = len(solutions.rows)
    has_more = offset + returned < solutions.total or not solutions.complete
    return RowPage(
        returned=returned,
        total=solutions.total,
        limit=MAX_ROWS if limit is None else limit,
        offset=offset,
        has_more=has_more,
        next_offset=offset + returned if has_more and returned else None,
        complete=None if solutions.complete else False,
    )
