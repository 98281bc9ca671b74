"""docs/evals.md: its example runs, and prints what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.processes import ROOT, environment, served

DOCUMENT = (ROOT / "docs" / "evals.md").read_text("utf-8")


def test_the_example_prints_what_the_document_says(tmp_path: Path) -> None:
    code, printed = (re.search(rf"```{kind}\n(.*?)```", DOCUMENT, re.DOTALL) for kind in ("python", "text"))
    assert code and printed
    with served(tmp_path) as (url, _):
        done = subprocess.run(
            [sys.executable, "-c", code[1].replace("http://127.0.0.1:7878", url)],
            env=environment(tmp_path),
            capture_output=True,
            encoding="utf-8",
            timeout=120,
        )
    assert (done.stdout, done.returncode) == (printed[1], 0), done.stderr
