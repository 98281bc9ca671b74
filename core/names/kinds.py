"""Kinds: which records a name means first. People and organizations, then others, then what is written about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum

from core.describe.prefixes import local_name

_PART = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![^\W\d_A-Z])")

_ACTORS = frozenset(
    """person people human contact employee staff worker user member author creator customer client supplier
    vendor manager engineer developer owner patient doctor student teacher professor researcher player artist politician
    agent organization organisation org company firm business corporation enterprise institution institute agency
    authority university school college hospital bank team department group club association party government ministry
    publisher employer competitor partner investor startup subsidiary band charity individual man woman child family
    parent mother father brother sister wife husband friend neighbor neighbour colleague founder director boss coach
    scientist musician actor actress singer writer journalist lawyer designer architect analyst consultant nurse athlete
    attendee participant speaker candidate guest driver officer president minister nonprofit ngo foundation council
    committee commission court clinic retailer manufacturer laboratory lab studio union federation orchestra
    mitarbeiter mitarbeiterin kunde kundin lieferant firma unternehmen hersteller ansprechpartner kontakt mensch behörde
    hochschule universität verein abteilung personne entreprise organisme persona empresa organización""".split()  # noqa: SIM905 -- a block of words reads better than a list
)
_WRITTEN = frozenset(
    """document doc page webpage note message mail email mention attachment article post comment chat thread
    conversation transcript recording file snippet excerpt chunk passage report letter memo minutes creativework website
    blog dokument notiz nachricht protokoll seite datei bericht brief beitrag""".split()  # noqa: SIM905
)


class Kind(IntEnum):
    """What a record is for who names it; the first comes first."""

    ACTOR = 0
    OTHER = 1
    WRITTEN = 2


def kind_of(class_: str, superclasses: Mapping[str, Sequence[str]]) -> Kind:
    """The kind of a class's records, by its local name and those of its superclasses, the nearest first. The last word
    of a name says what it is: a ContactNote is a note."""
    for one in _upwards(class_, superclasses):
        name = local_name(one)
        for word in (name, *reversed(_PART.findall(name))):
            said = {word.casefold(), word.casefold().removesuffix("s")}
            if said & _ACTORS:
                return Kind.ACTOR
            if said & _WRITTEN:
                return Kind.WRITTEN
    return Kind.OTHER


def _upwards(class_: str, superclasses: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The class and what it is a subclass of, each once."""
    seen = {class_: None}
    row = [class_]
    while row:
        yield from row
        above = dict.fromkeys(sup for one in row for sup in superclasses.get(one, ()) if sup not in seen)
        seen |= above
        row = list(above)
