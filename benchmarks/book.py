"""A book of any length to be remembered: plain sentences about invented people, the same ones for the same seed."""

from __future__ import annotations

import random
from collections.abc import Iterator

FIRST = "Tilda Bruno Carla Dario Edda Falk Greta Hanno Ilse Jonas Karla Ludo Marta Nils Olga Piet Rosa Sven Thea Udo"
LAST = "Brandt Kessler Lindqvist Moreau Novak Ortega Petrov Quist Rossi Sandoval Tanner Ulrich Vogel Winter"
TOWNS = "Ulm Split Lyon Turku Bergen Porto Gdansk Ghent Trieste Malmo Leeds Cork Bilbao Graz"
FIRMS = "Nordwerk Halden Ostrava Mills Kestrel Press Tamarind Foundry Juniper Works Pelican Yard"
THINGS = "kiln loom bakery vineyard printing-press lighthouse orchard boatyard observatory clockwork"
MONTHS = "January February March April May June July August September October November December"
PAGE = 1_800


def book(pages: int, seed: int = 7) -> str:
    """About that many pages of 1,800 characters each, in chapters and paragraphs."""
    chosen = random.Random(seed)
    people = [f"{first} {last}" for first in FIRST.split() for last in chosen.sample(LAST.split(), 6)]
    told: list[str] = []
    length = 0
    chapter = 0
    while length < pages * PAGE:
        chapter += 1
        told.append(f"\n\nChapter {chapter}\n\n")
        told += [" ".join(_paragraph(chosen, people)) + "\n\n" for _ in range(12)]
        length += sum(map(len, told[-13:]))
    return "".join(told)[: pages * PAGE].strip()


def _paragraph(chosen: random.Random, people: list[str]) -> Iterator[str]:
    person, friend = chosen.sample(people, 2)
    year = chosen.randint(1890, 1949)
    yield f"In {chosen.choice(MONTHS.split())} {year} {person} moved to {chosen.choice(TOWNS.split())}."
    yield f"{person} worked at {chosen.choice(FIRMS.split())} and knew {friend} well."
    yield chosen.choice(
        (
            "The winter was long that year, and the river did not thaw before Easter.",
            "Nobody in the street could say where the music had come from.",
            "There was little to eat, but there was always somebody who knew a story.",
            "The papers of that week are lost, and what is left of them contradicts itself.",
        )
    )
    yield f"{friend} owned a {chosen.choice(THINGS.split())} in {chosen.choice(TOWNS.split())}."
    if chosen.random() < 0.4:
        yield f"On {chosen.randint(1, 28)} {chosen.choice(MONTHS.split())} {year + 1} {person} married {friend}."
