"""A graph of services that questions are asked of, with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from gligabao_mcp.providers.scripted import ScriptedModel
from tests.ask.asking import Asker, opened


@pytest.fixture(autouse=True)
def _without_pause(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr("core.ask.calls.PAUSE", 0.0)


@pytest.fixture
async def asked(tmp_path: Path, model: ScriptedModel) -> AsyncGenerator[Asker]:
    async with opened(tmp_path, model) as asker:
        yield asker
