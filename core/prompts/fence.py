"""The tags that hold what a prompt quotes. What they hold is data: it can't close its tag or open another."""

from __future__ import annotations

import re
from collections.abc import Sequence

TAGS = (
    "candidates",
    "current_time",
    "graph",
    "kind",
    "messages",
    "new_facts",
    "notes",
    "picked",
    "question",
    "records",
    "reference_time",
    "text",
    "today",
    "weekday",
)
# An IRI that begins like a tag, such as <text:1>, stays whole.
_OURS = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(TAGS)})(?:[\s/>]|$))", re.IGNORECASE)


def fenced(tag: str, content: str) -> str:
    """The content inside the tag."""
    assert tag in TAGS
    return f"<{tag}>{harmless(content)}</{tag}>"


def fenced_lines(tag: str, lines: Sequence[str]) -> str:
    """The lines inside the tag, each on its own."""
    return fenced(tag, "".join(f"\n{line}" for line in lines) + "\n")


def harmless(content: str) -> str:
    """The content with the `<` of anything that reads as one of our tags replaced by a look-alike."""
    return _OURS.sub("\u2039", content)
