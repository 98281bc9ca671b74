"""Names of entities by their beginning: what completion offers, the same in both databases."""

from __future__ import annotations

import random

import pytest

from core.core import Core
from core.datasets import find_dataset
from core.remember.remember import remember
from core.remember.request import RememberRequest
from core.text import name_key, without_accents

pytestmark = pytest.mark.anyio

NAMES = """
    al Alice Ålice ALAN alan'a al_n al%n a\\b Zoë zoe Zoo ZOË Zo\u0308e É École ecole e\u0301t\u0113 groß GROSS
    Đặng dang 東京 東京大学 京都 हिन्दी राम #ai @ai ai ﬁn fin 50% _x -- İstanbul istanbul ΣΊΣΥΦΟΣ σίσυφος ❤️ 😀
""".split()  # noqa: SIM905 -- a block of words reads better than 40 strings


async def test_a_beginning_finds_what_begins_so_without_case_and_accents(core: Core) -> None:
    entities = [{"name": name, "type": "thing"} for name in NAMES]
    told = {"user_id": "u1", "text": "Told.", "edges": [], "entities": entities}
    await remember(core, RememberRequest.model_validate(told))
    dataset = await find_dataset(core, "u1", None)
    assert dataset
    stored = (await core.reader.names(dataset, "", 100)).rows
    assert {name_key(name) for name in stored} == {name_key(name) for name in NAMES}
    pick = random.Random(7)
    beginnings = ["", "%", "_", "\\", "x" * 200, *(name[: pick.randint(1, len(name))] for name in NAMES)]
    for beginning in beginnings:
        start = without_accents(name_key(beginning))
        expected = {name for name in stored if without_accents(name_key(name)).startswith(start)}
        page = await core.reader.names(dataset, beginning, 100)
        assert (set(page.rows), page.total) == (expected, len(expected)), beginning
        assert (await core.reader.names(dataset, beginning, 2)).rows == page.rows[:2]


@pytest.mark.parametrize(
    ("folded", "bare"), [("zoë", "zoe"), ("plain", "plain"), ("đặng", "đang"), ("σίσυφος", "σισυφος"), ("東京", "東京")]
)
def test_letters_lose_their_accents_and_nothing_else(folded: str, bare: str) -> None:
    assert without_accents(folded) == bare
