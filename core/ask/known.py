"""What is known of a question's records before the model starts: those that its names stand for, and those that the
user picked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from core.ask.response import AnchorShown
from core.describe.anchors import Anchor
from core.describe.prefixes import ShortNames
from core.names.names import Candidate, Linked
from core.text import one_line


@dataclass(frozen=True, slots=True)
class Known:
    """`linked` is None where the names could not be looked up in time."""

    linked: Linked | None
    anchors: Sequence[Anchor]

    def records(self) -> list[str]:
        """The records of the names, a line each."""
        return [candidate_line(candidate) for candidate in self.candidates]

    def picked(self, short: ShortNames) -> list[str]:
        """The records that the user picked, with their links."""
        return [line for anchor in self.anchors for line in anchor.lines(short)]

    @property
    def candidates(self) -> Sequence[Candidate]:
        """The records of the names."""
        return self.linked.candidates if self.linked else ()

    @property
    def names(self) -> int | None:
        """How many names were looked through; None where they were not read yet."""
        return self.linked.names if self.linked and self.linked.ready else None

    def iris(self) -> Iterator[str]:
        """Every record among these."""
        for candidate in self.candidates:
            yield candidate.iri
        for anchor in self.anchors:
            if anchor.found:
                yield anchor.iri
            for link in anchor.links:
                yield from (record.iri for record in link.records)

    def shown_anchors(self) -> list[AnchorShown] | None:
        """What was read of each record that the user picked; None where none was."""
        return [_shown_anchor(anchor) for anchor in self.anchors] or None


def candidate_line(candidate: Candidate) -> str:
    """A record that a name may stand for, as the model reads it."""
    label = f' "{one_line(candidate.label)}"' if candidate.label else ""
    return f'"{candidate.text}": <{candidate.iri}>{label}, a <{candidate.class_}>, {candidate.by} {candidate.score:.2f}'


def _shown_anchor(anchor: Anchor) -> AnchorShown:
    return AnchorShown(
        iri=anchor.iri,
        found=anchor.found,
        label=anchor.label,
        types=list(anchor.types) or None,
        note=anchor.note,
    )
