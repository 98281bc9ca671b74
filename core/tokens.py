"""How long a text is for a model."""

from __future__ import annotations


def count_tokens(text: str) -> int:
    """cl100k_base tokens of the text: exact for text-embedding-3, an estimate for other models."""
    import toktok  # pyright: ignore[reportMissingTypeStubs]

    return int(toktok.batch_count([text], "cl100k_base", 1)[0])


def fits(text: str, limit: int) -> bool:
    """Whether the text has at most `limit` tokens. A token is at least one byte, so a short text needs no counting."""
    return len(text.encode()) <= limit or count_tokens(text) <= limit
