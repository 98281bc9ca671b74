"""How long texts are for a model, and when nobody needs to count."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from core.tokens import count_tokens, fits, lengths

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def test_short_texts_are_as_long_as_their_bytes_and_others_as_their_tokens() -> None:
    texts = ["Zoë", "lives here"]
    assert lengths(texts, 14) == [4, 10]
    assert lengths(texts, 13) == [count_tokens(text) for text in texts] == [3, 3]
    assert lengths([], 0) == []


@given(st.lists(WORDS, max_size=4), st.integers(1, 100))
def test_what_fits_by_its_lengths_fits_by_its_tokens(texts: list[str], limit: int) -> None:
    if sum(lengths(texts, limit)) <= limit:
        assert sum(map(count_tokens, texts)) <= limit
    assert all(fits(text, length) for text, length in zip(texts, lengths(texts, limit), strict=True))
