"""How long a text is for a model."""

from __future__ import annotations

from collections.abc import Sequence


def count_tokens(text: str) -> int:
    """cl100k_base tokens of the text: exact for text-embedding-3, an estimate for other models."""
    import toktok  # pyright: ignore[reportMissingTypeStubs]

    return int(toktok.batch_count([text], "cl100k_base", 1)[0])


def fits(text: str, limit: int) -> bool:
    """Whether the text has at most `limit` tokens. A token is at least one byte, so a short text needs no counting."""
    return len(text.encode()) <= limit or count_tokens(text) <= limit


def lengths(texts: Sequence[str], limit: int) -> list[int]:
    """The tokens of each text; its bytes, which are never fewer, where even those of all texts together fit into
    `limit`. The table of tokens takes 36 MB, which a process of short texts need not load."""
    sizes = [len(text.encode()) for text in texts]
    if sum(sizes) <= limit:
        return sizes
    import toktok  # pyright: ignore[reportMissingTypeStubs]

    return toktok.batch_count(list(texts), "cl100k_base", 1)
