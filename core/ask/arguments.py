"""The arguments of the model's tools, read from what it wrote. What it made up besides is passed over."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)

from core.ask.request import MAX_QUESTION, Day
from core.ask.response import ToolName
from core.errors import InvalidRequest
from core.evals.trace import Chart, RouteKind
from core.rdf.gate import without_prefixes
from core.text import one_line

MAX_CITATIONS = 20
MAX_LINE = 200
_MAX_NAMED = 20

_KINDS: tuple[object, ...] = get_args(RouteKind)

Told = TypeVar("Told", bound=BaseModel)


def _listed(value: object) -> object:
    """Models write one value where a list is asked for, or the list as a text."""
    if not isinstance(value, str):
        return () if value is None else value
    try:
        listed = json.loads(value)
    except (ValueError, RecursionError):
        return [value]
    return cast("list[object]", listed) if isinstance(listed, list) else [value]


def _or_default(default: object) -> BeforeValidator:
    return BeforeValidator(lambda value: default if value is None else value)


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Variables = Annotated[Names, AfterValidator(lambda names: tuple(name.lstrip("?$") for name in names))]
Point = Day | Annotated[int, Field(ge=0)]
"""A date, or the number of a commit."""
Entailed = Literal["none", "subclass", "rdfs"]
Stated = Annotated[Entailed, _or_default("none")]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class SparqlArguments(_Arguments):
    query: Annotated[str, Field(min_length=1)]
    entailment: Stated = "none"
    as_of_commit_seq: Annotated[int | None, Field(ge=0)] = None


class FindEntitiesArguments(_Arguments):
    text: Annotated[str, Field(min_length=1, max_length=MAX_QUESTION)]


class DescribeArguments(_Arguments):
    classes: Annotated[Names, Field(max_length=_MAX_NAMED)] = ()
    properties: Annotated[Names, Field(max_length=2 * _MAX_NAMED)] = ()


class CommitForDateArguments(_Arguments):
    date: Day


class CompareArguments(_Arguments):
    query: Annotated[str, Field(min_length=1)]
    since: Point
    until: Point | None = None
    key: Variables = ()
    entailment: Stated = "none"


class AnswerArguments(_Arguments):
    """The answer as the model gives it, unchecked. `step` is the number of the step whose rows hold it. A chart or a
    route that can't be read is none: that is worth no second try."""

    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    citations: Names = ()
    step: int | None = None
    chart: Annotated[Chart | None, BeforeValidator(lambda value: _chart(value))] = None
    rationale: Annotated[str, _or_default("")] = ""
    route: Annotated[RouteKind | None, BeforeValidator(lambda value: value if value in _KINDS else None)] = None


def read_arguments(model: type[Told], stated: object) -> Told:
    """The arguments; raises InvalidRequest with one line that the model can correct them by."""
    try:
        return model.model_validate(stated)
    except ValidationError as error:
        wrong = [f"{detail['loc'][0] if detail['loc'] else 'input'}: {detail['msg']}" for detail in error.errors()]
        raise InvalidRequest("; ".join(wrong[:3])) from None


def _chart(value: object) -> object:
    try:
        return Chart.model_validate(value)
    except ValidationError:
        return None


def shown(stated: object) -> dict[str, Any]:
    """What the model wrote, for who looks at the steps; long texts are cut."""
    if not isinstance(stated, dict):
        return {}
    return {str(name)[:64]: _cut(value) for name, value in list(stated.items())[:16]}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _cut(value: object) -> object:
    return value[:4_000] if isinstance(value, str) else value


def line_of(tool: ToolName, stated: Mapping[str, Any]) -> str:
    """What a step was asked, on one line of at most 200 characters: a query without its PREFIX lines, the name, the
    words or the date."""
    named = ("query",) if tool in ("sparql", "compare") else ("text", "date", "classes", "properties")
    values = [stated[name] for name in named if stated.get(name)]
    text = " ".join(map(_spoken, values))
    return one_line(without_prefixes(text) if named == ("query",) else text, MAX_LINE)


def _spoken(value: object) -> str:
    return " ".join(map(str, cast("list[object]", value))) if isinstance(value, list) else str(value)
