"""AskRequest: a question, and what its caller knows besides."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from core.evals.trace import RouteKind
from core.graphs.requests import GraphRead
from core.requests import Offset, Spoken, Whole

MAX_QUESTION = 4_000
MAX_CONTEXT = 8_000
MAX_ROWS = 1_000
MAX_ANCHORS = 10
MAX_POINTS = 200
MAX_LABEL = 200

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`\x7f\ud800-\udfff]{1,2000}")


def _day(value: object) -> object:
    try:
        if isinstance(value, str) and _DATE.fullmatch(value):
            return date.fromisoformat(value)
    except ValueError:
        pass
    if value is None or type(value) is date:
        return value
    raise ValueError("must be a date such as 2026-03-01")


def _iri(value: str) -> str:
    if not _IRI.fullmatch(value):
        raise ValueError("must be an IRI such as https://example.com/person/1")
    return value


def _given(default: object) -> BeforeValidator:
    """null is not given."""
    return BeforeValidator(lambda value: default if value is None else value)


Day = Annotated[date, BeforeValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
Iri = Annotated[str, AfterValidator(_iri)]


class TimelinePoint(BaseModel):
    """A date, and the commit that holds the graph as it was on it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    date: Annotated[Day, Field(description="YYYY-MM-DD.")]
    as_of_commit_seq: Annotated[Offset, Field(description="The commit that stands for it.")]
    label: Annotated[
        str | None, Field(max_length=MAX_LABEL, description="A name for the point, at most 200 characters.")
    ] = None


class AskRequest(GraphRead):
    """A question. It names no model: those are the server's."""

    question: Annotated[Spoken, Field(max_length=MAX_QUESTION, description="The question, 1 to 4,000 characters.")]
    context: Annotated[
        str,
        Field(
            max_length=MAX_CONTEXT,
            description="What the data means, in plain words, at most 8,000 characters. The same text with every "
            "question is read from the provider's cache.",
        ),
        _given(""),
    ] = ""
    route: Annotated[
        RouteKind | None,
        Field(description="Fixes the kind of the question: lookup, aggregate, search, history, schema, unanswerable."),
    ] = None
    mode: Annotated[
        Literal["answer", "route"], Field(description="answer, or route: only the kind of the question.")
    ] = "answer"
    limit: Annotated[
        Whole,
        Field(ge=1, le=MAX_ROWS, description="Rows that each query returns, 1 to 1,000. The model reads at most 30."),
        _given(100),
    ] = 100
    as_of_commit_seq: Annotated[Offset | None, Field(description="Read the graph as it was after this commit.")] = None
    today: Annotated[
        Day | None, Field(description="Today, YYYY-MM-DD, for words such as 'last week'. Default: the day in UTC.")
    ] = None
    include_grounding: Annotated[
        bool, Field(description="true: grounding.text holds what the models were told of the graph."), _given(False)
    ] = False
    anchor: Annotated[
        tuple[Iri, ...],
        Field(max_length=MAX_ANCHORS, description="IRIs of records that the user picked, at most 10."),
        _given(()),
    ] = ()
    timeline: Annotated[
        tuple[TimelinePoint, ...],
        Field(
            max_length=MAX_POINTS,
            description="At most 200 points of date, as_of_commit_seq and label: a date is read as the last one not "
            "after it, instead of by the times of the commits.",
        ),
        _given(()),
    ] = ()

    def given(self) -> dict[str, Any]:
        """What was asked besides the question, as JSON; what is as usual is left out."""
        return self.model_dump(mode="json", exclude={"question"}, exclude_defaults=True)
