"""Many clients on one memory, some of them rude: benchmarks/soak.py, for as long as a test may take."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.processes import ROOT


@pytest.mark.skipif(sys.platform == "win32", reason="it ends processes by signals")
def test_nothing_is_lost_or_doubled_although_calls_are_left_and_processes_end() -> None:
    """C071, C098: cancels, broken connections, kill -9 and restarts, over HTTP in both eras and over stdio."""
    command = [sys.executable, "-m", "benchmarks.soak", "--seconds", "30"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=400, check=False)
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    assert "faults                   0" in ended.stdout
