"""What a first answer waits for, and what it does not."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path

import pytest

from gligabao_mcp.collector import paused
from tests.processes import environment

UNUSED = ("lancedb", "pyarrow", "numpy", "pandas", "anthropic", "openai", "toktok", "spacy", "onnxruntime")
ASK = """
import asyncio, sys
from pathlib import Path
from core.config import Config
from gligabao_mcp.operations import QUERY, REMEMBER, execute, parse
from gligabao_mcp.wiring import open_core

async def main():
    edge = {"source": "Alice", "target": "Paris", "relation": "lives in"}
    async with open_core(Config(home=Path(sys.argv[1]), log_level="error")) as core:
        told = {"user_id": "u", "text": "Alice lives in Paris.", "edges": [edge]}
        await execute(REMEMBER, core, parse(REMEMBER, told))
        asked = {"user_id": "u", "query": "Where does Alice live?", "answer": False, "retrieval": "keyword"}
        found = await execute(QUERY, core, parse(QUERY, asked))
        assert found["evidence"]["edges"][0]["target"] == "Paris"

asyncio.run(main())
print(sorted(set(sys.modules) & set(sys.argv[2:])))
"""


def test_without_model_and_embedder_nothing_of_theirs_is_imported(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ASK, str(tmp_path), *UNUSED]
    shown = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert shown.stdout.strip() == "[]", shown.stderr


def test_the_collector_is_at_work_again_whatever_became_of_the_import() -> None:
    with pytest.raises(ImportError), paused():
        assert not gc.isenabled()
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled(), "the inner block is not the one that paused it"
        raise ImportError
    assert gc.isenabled()


def test_a_process_that_wants_no_collector_gets_none() -> None:
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
