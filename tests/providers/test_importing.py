"""SDKs that are imported while others are served."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from gligabao_mcp.providers.importing import imported

pytestmark = pytest.mark.anyio

SLOW = """
import sys
sys.modules["gate"].begun.set()
assert sys.modules["gate"].open.wait(30)
WHOLE = True
"""


async def test_who_asks_for_a_module_while_it_is_imported_gets_all_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = SimpleNamespace(begun=threading.Event(), open=threading.Event())
    monkeypatch.setitem(sys.modules, "gate", gate)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (tmp_path / "slow_sdk.py").write_text(SLOW, encoding="utf-8")
    first = asyncio.create_task(imported("slow_sdk"))
    assert await asyncio.to_thread(gate.begun.wait, 30)
    second = asyncio.create_task(imported("slow_sdk"))
    done, _ = await asyncio.wait([second], timeout=0.05)
    assert not done, "the module is there, but not whole"
    gate.open.set()
    await second
    assert sys.modules["slow_sdk"].WHOLE
    await first
