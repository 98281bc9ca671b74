"""Which classes and properties a request for a description is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.describe.description import Description
from core.describe.matching import matching

# The largest classes, and those and the properties that a question names.
LARGEST, NAMED_CLASSES, NAMED_PROPERTIES = 20, 10, 20


@dataclass(frozen=True, slots=True)
class Choice:
    """What is described, in this order, and what of the request the graph does not have."""

    classes: Sequence[str]
    properties: Sequence[str]
    unknown: Sequence[str]


def choose(description: Description, question: str, classes: Sequence[str], properties: Sequence[str]) -> Choice:
    """The classes and properties that are named, then those that the question's words match; the largest classes where
    nothing is asked for, or nothing matches."""
    stated_classes = {stated: _whole_iri(stated, description) for stated in classes}
    stated_properties = {stated: _whole_iri(stated, description) for stated in properties}
    unknown = [stated for stated, iri in stated_classes.items() if iri not in description.classes]
    unknown += [stated for stated, iri in stated_properties.items() if iri not in description.properties]
    chosen_classes = [iri for iri in stated_classes.values() if iri in description.classes]
    chosen_properties = [iri for iri in stated_properties.values() if iri in description.properties]
    if question.strip():
        chosen_classes += list(matching(question, description.classes.values(), comments=True))[:NAMED_CLASSES]
        named = matching(question, description.properties.values(), comments=True)
        chosen_properties += list(named)[:NAMED_PROPERTIES]
    if not (chosen_classes or chosen_properties or unknown):
        chosen_classes = list(description.classes)[:LARGEST]
    return Choice(list(dict.fromkeys(chosen_classes)), list(dict.fromkeys(chosen_properties)), unknown)


def _whole_iri(stated: str, description: Description) -> str:
    """The IRI; `prefix:local` is one too, where the prefix is known."""
    prefix, _, local = stated.partition(":")
    is_known = stated in description.classes or stated in description.properties
    return stated if is_known or prefix not in description.prefixes else description.prefixes[prefix] + local
