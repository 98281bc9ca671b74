"""An answer against what was read: what it may cite, and whether it fits the rows that it says it rests on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.ask.arguments import MAX_CITATIONS, AnswerArguments
from core.ask.charts import checked_chart
from core.ask.seen import Seen, named_in
from core.ask.steps import CompareFound, QueryFound, Step
from core.ask.told import MAX_ROWS, iris_of
from core.evals.trace import Chart, RouteKind
from core.rdf.terms import Row, Term
from core.rdf.vocabulary import XSD

_PREFIX = re.compile(r"\bPREFIX\s+([\w-]*):\s*<([^<>]*)>", re.IGNORECASE)
_NAMED = 5
_LEAST_LABEL = 2
# A label as short as that is only meant where its letters are as large: "It" is no "IT".
_SHORT_LABEL = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with the citations that were read and a chart that fits. `step` is the one whose rows hold it; None
    where none does. `route` is set where the model chose another kind."""

    text: str
    citations: tuple[str, ...]
    step: Step | None
    chart: Chart | None
    rationale: str
    route: RouteKind | None


def answer_of(stated: AnswerArguments, taken: Sequence[Step], seen: Seen, kind: RouteKind) -> Answer:
    """The answer that the model gives, without the citations that it never read and a chart that does not fit."""
    cited = dict.fromkeys(seen.whole(name) for name in stated.citations)
    step = _step_of(stated, taken, kind)
    found = step.found if step else None
    return Answer(
        text=stated.text,
        citations=tuple(iri for iri in cited if seen.saw(iri))[:MAX_CITATIONS],
        step=step,
        chart=checked_chart(stated.chart, found.ran.solutions) if isinstance(found, QueryFound) else None,
        rationale=stated.rationale.strip() or (f"The rows of step {step.n} hold the answer." if step else ""),
        route=stated.route if stated.route != kind else None,
    )


def _step_of(stated: AnswerArguments, taken: Sequence[Step], kind: RouteKind) -> Step | None:
    """The step that the answer names, where it found something; else the last that did. None for an answer from a step
    of another kind, and for a question that can't be answered."""
    named = next((step for step in taken if step.n == stated.step), None)
    if named and named.error is None:
        return named if named.found else None
    if stated.step is None and (stated.route or kind) == "unanswerable":
        return None
    return next((step for step in reversed(taken) if step.found), None)


def objections(answer: Answer) -> list[str]:
    """What does not fit between an answer and its rows: records that they do not hold, rows that it passes over, and
    records that it names without citing them."""
    if answer.step is None or answer.step.found is None:
        return []
    rows = [row for entry in _entries(answer.step) for row in entry]
    held = {*iris_of(rows)}
    return [
        *_strangers(answer, held, answer.step),
        *_passed_over(answer, _entries(answer.step), answer.step),
        *_uncited(answer, rows, held, answer.step),
    ]


def _entries(step: Step) -> list[list[Row]]:
    """The rows, one by one; of a comparison, its entries, each with all its rows."""
    if isinstance(step.found, QueryFound):
        return [[row] for row in step.found.ran.solutions.rows]
    assert isinstance(step.found, CompareFound)
    found = step.found.compared.difference
    changed = [[change.key, *change.before, *change.after] for change in found.changed]
    return [*([row] for row in (*found.added, *found.removed)), *changed]


def _strangers(answer: Answer, held: set[str], step: Step) -> Iterator[str]:
    """A query may name a record itself and leave it out of its rows."""
    strangers = [iri for iri in answer.citations if iri not in held]
    if strangers:
        text = _query_of(step)
        named = {*named_in(text, dict(_PREFIX.findall(text)))}
        strangers = [iri for iri in strangers if iri not in named]
    if strangers:
        shown = ", ".join(f"<{iri}>" for iri in strangers[:_NAMED])
        yield (
            f"it cites {len(strangers)} of its records from elsewhere than the rows of step {step.n}: {shown}. Name "
            "the step whose rows hold all that the answer states, or run a query that returns it"
        )


def _passed_over(answer: Answer, entries: Sequence[Sequence[Row]], step: Step) -> Iterator[str]:
    """Of few rows an answer that cites some has to cite all: else its query returns more than it states."""
    if (step.rows or 0) > MAX_CITATIONS:
        return
    cited = {*answer.citations}
    holding = [iris for entry in entries if (iris := {*iris_of(entry)})]
    passed = sum(not iris & cited for iris in holding)
    if 0 < passed < len(holding):
        yield (
            f"it cites no record of {passed} of the {len(holding)} rows of step {step.n}. Cite those too, or, if the "
            "answer states only some of the rows, run a query that returns just these and name its step"
        )


def _uncited(answer: Answer, rows: Sequence[Row], held: set[str], step: Step) -> Iterator[str]:
    if held.isdisjoint(answer.citations) and any(_stands_in(label, answer.text) for label in _labels(rows[:MAX_ROWS])):
        yield f"it names records of step {step.n} by their labels and cites none of them: cite their IRIs"


def _labels(rows: Sequence[Row]) -> Iterator[str]:
    """The values that tell the records of the rows apart: of columns of words, a different one for each record."""
    of_records = [row for row in rows if any(term.kind == "uri" for term in row.values())]
    for name in {name for row in of_records for name in row}:
        values = [row[name] for row in of_records if name in row]
        if all(map(_is_word, values)) and len({*values}) == len(values):
            yield from (value.value for value in values)


def _is_word(term: Term) -> bool:
    return (
        term.kind == "literal"
        and term.datatype in ("", f"{XSD}string")
        and len(term.value) >= _LEAST_LABEL
        and any(map(str.isalpha, term.value))
    )


def _stands_in(label: str, text: str) -> bool:
    flags = re.IGNORECASE if len(label) > _SHORT_LABEL else 0
    return re.search(rf"(?<!\w){re.escape(label)}(?!\w)", text, flags) is not None


def _query_of(step: Step) -> str:
    if isinstance(step.found, QueryFound):
        return step.found.ran.checked.text
    assert isinstance(step.found, CompareFound)
    return step.found.compared.checked.text
