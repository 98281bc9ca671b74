"""Pages of a query by its own LIMIT, all of one commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.errors import InvalidRequest
from core.rdf.gate import Checked
from core.rdf.ports import MAX_ROWS
from core.sparql.cursor import Place
from core.sparql.response import RowPage, SparqlResponse
from core.sparql.shape import shape_of
from core.sparql.similar import similar_in

MAX_PAGE = 10_000


@dataclass(frozen=True, slots=True)
class Page:
    """One page: `checked` is the query for all rows up to its end, `size` of them are new from `place.offset` on."""

    checked: Checked
    size: int
    place: Place

    @property
    def seq(self) -> int:
        """The commit that all pages are of."""
        return self.place.seqs[0]

    def shown(self, response: SparqlResponse, request: Sequence[object]) -> SparqlResponse:
        """The response with the cursor of the next page; after a full last page that one is empty."""
        returned = response.row_page.returned
        is_full = returned == self.size
        following = Place(self.place.seqs, self.place.offset + returned)
        return response.model_copy(
            update={
                "row_page": RowPage(returned=returned, total=returned, limit=self.size, offset=0, has_more=is_full),
                "next_cursor": following.cursor(request) if is_full else None,
            }
        )


def page_of(checked: Checked, place: Place) -> Page:
    """The page at a place. Raises InvalidRequest (param `query`) for a query without ORDER BY and LIMIT, or with an
    OFFSET; (param `cursor`) behind the most rows that a query counts."""
    if similar_in(checked.text):
        raise InvalidRequest("cursor: a search by meaning has no pages; set search:top", param="cursor")
    shape = shape_of(checked.text)
    if not shape.is_ordered or not shape.limit or shape.limit > MAX_PAGE or shape.offset:
        raise InvalidRequest(
            f"query: needs an ORDER BY and a LIMIT of 1 to {MAX_PAGE:,} without an OFFSET, to be read in pages",
            param="query",
        )
    end = place.offset + shape.limit
    if end > MAX_ROWS:
        raise InvalidRequest(f"cursor: pages end at {MAX_ROWS:,} rows", param="cursor")
    number = slice(*shape.limit_at)
    text = f"{checked.text[: number.start]}{end}{checked.text[number.stop :]}"
    return Page(replace(checked, text=text), shape.limit, place)
