"""A description as text for a prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from core.describe.description import ClassPart, Coverage, PropertyPart, Statement
from core.describe.prefixes import ShortNames, local_name
from core.describe.values import Instance

CLASSES_TITLE = "Classes, with their properties and how many of the sampled records have each:"
MAX_COMMENT = 160
# Characters of an example.
EXAMPLE = 48


def class_lines(part: ClassPart, short: ShortNames, most: int | None = None) -> list[str]:
    """A class with its count, and its properties below, at most `most` of them."""
    coverage = part.coverage or ()
    shown = coverage[:most]
    lines = [f"{short(part.iri)} {part.instances:,} {_records(part.instances)}{_said(part)}"]
    lines += [f"  {_covered(one, short)}" for one in shown]
    lines += [f"  {line}" for line in rest(len(coverage) - len(shown))]
    return lines


def property_line(part: PropertyPart, short: ShortNames, uses: Iterable[tuple[str, Coverage]] = ()) -> str:
    """A property with the number of its statements and, where given, the classes that use it."""
    count = f"{part.statements:,} {'links' if part.links else 'values'}" if part.statements else "unused now"
    of = ", ".join(f"{short(iri)} {_held(one, short)}" for iri, one in uses)
    return f"{short(part.iri)} {count}{_said(part)}" + (f"; of {of}" if of else "")


def statement_lines(statements: Iterable[Statement], short: ShortNames) -> list[str]:
    """The statements as Turtle writes them, one line for each subject."""
    told: dict[str, list[str]] = {}
    for one in statements:
        object_ = short(one.object) if ":" in one.object else f'"{one.object}"'
        told.setdefault(short(one.subject), []).append(f"{short(one.predicate)} {object_}")
    return [f"{subject} {' ; '.join(said)}" for subject, said in told.items()]


def value_lines(records: Iterable[Instance], short: ShortNames) -> list[str]:
    """The records of a small class with their values."""
    lines: list[str] = []
    for one in records:
        values = "".join(f" {short(iri)} {quoted(value)}" for iri, value in one.values.items())
        lines.append(f"  <{one.iri}>" + (f" {quoted(one.label)}" if one.label else "") + values)
    return lines


def quoted(text: str) -> str:
    """A text on one line, its first 48 characters, in quotes."""
    shown = text if len(text) <= EXAMPLE else text[: EXAMPLE - 1] + "…"
    return '"' + " ".join(shown.split()).replace('"', "'") + '"'


def prefix_lines(used: Iterable[tuple[str, str]]) -> list[str]:
    """The prefixes as a query declares them."""
    return [f"PREFIX {prefix}: <{namespace}>" for prefix, namespace in used]


def section(title: str, lines: Sequence[str]) -> list[str]:
    """The lines under a title; nothing where there are none."""
    return [title, *lines, ""] if lines else []


def rest(count: int) -> list[str]:
    """A line that tells how many more there are; none where there are no more."""
    return [f"and {count:,} more"] if count else []


def _records(count: int) -> str:
    return "record" if count == 1 else "records"


def _said(part: ClassPart | PropertyPart) -> str:
    label = f" {quoted(part.label)}" if part.label and not _is_name(part.label, part.iri) else ""
    comment = " ".join((part.comment or "").split())
    if len(comment) > MAX_COMMENT:
        comment = comment[: MAX_COMMENT - 1] + "…"
    return label + (f": {comment}" if comment else "")


def _is_name(label: str, iri: str) -> bool:
    """Whether a label says no more than the name does: "works at" of works_at."""
    return label.casefold().replace("_", " ") == local_name(iri).casefold().replace("_", " ")


def _covered(one: Coverage, short: ShortNames) -> str:
    return f"{short(one.property)} {_held(one, short)}"


def _held(one: Coverage, short: ShortNames) -> str:
    shown = f"{one.instances}/{one.of}" + (f" -> {short(one.target)}" if one.target else "")
    return shown + (f" e.g. {one.example}" if one.example else "")
