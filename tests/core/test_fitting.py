"""How long a result is taken for: never for shorter than it is, whatever the language."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.fitting import beginning, fits, how_many, shortened, tokens_of
from core.tokens import count_tokens

FACT: dict[str, Any] = {
    **{"id": 1234, "source_id": 34, "target_id": 235, "source": "Alice Miller", "target": "Acme Corporation"},
    **{"relation": "works_at", "description": "Alice Miller works at Acme as an engineer.", "artifact_id": 99},
    **{"valid_at": "2026-03-01T10:00:00.123456Z", "created_at": "2026-03-01T10:00:00.123456Z"},
}


@pytest.mark.parametrize(
    "value",
    [
        [FACT] * 20,
        "The quick brown fox jumps over the lazy dog, and nobody knows why it happened on Tuesday.",
        "Die Gesellschaft eröffnete gestern überraschend schöne Geschäftsräume in Köln.",
        "Wczoraj spotkałem Małgorzatę na dworcu we Wrocławiu i rozmawialiśmy długo.",
        "Đặng Thị Ngọc Thịnh sống ở Huế và làm việc tại một công ty phần mềm.",
        "倉庫盤點之前必須先關門，昨天我和朋友一起去了北京的博物館。",
        "昨日は友達と将棋大会に出た。とても楽しかったです。",
        "어제도서관에서책을빌렸다. 나는 서울에 살고 있습니다.",
        "أعيش في القاهرة وأعمل مهندساً في شركة كبيرة منذ ثلاث سنوات.",
        "मैं दिल्ली में रहता हूँ और एक बड़ी कंपनी में काम करता हूँ।",
        "Вчера я встретил Алексея в московском метро, и мы договорились.",
        "def f(x):\n    return [i ** 2 for i in range(x) if i % 2 == 0]\n",
        list(range(100_000, 100_100)),
    ],
    ids=lambda value: str(value)[:12],
)
def test_nothing_is_taken_for_shorter_than_it_is(value: object) -> None:
    real = count_tokens(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    assert real <= tokens_of(value) <= 3 * real


@given(st.text(max_size=400), st.integers(0, 200))
def test_a_beginning_fits_and_is_as_long_as_that(text: str, room: int) -> None:
    part = beginning(text, room)
    assert text.startswith(part)
    assert not part or fits(part, room)
    if len(part) < len(text) and room > 20:
        assert tokens_of(part) > room * 0.7


@given(st.lists(st.text(max_size=50), max_size=40), st.integers(0, 400))
def test_items_that_fit_one_by_one_fit_together(items: list[str], room: int) -> None:
    count = how_many(items, room)
    assert count == 0 or fits(items[:count], room)


def test_an_item_that_is_too_long_says_so() -> None:
    long = FACT | {"description": "so on " * 5_000}
    short = shortened(long, 500)
    assert fits(short, 500)
    assert short["text_truncated"] is True
    assert long["description"].startswith(short["description"])
    assert {**short, "description": ""} == {**long, "description": "", "text_truncated": True}
