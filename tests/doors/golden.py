"""Golden files: what strangers depend on, so that a change of it is a diff that somebody reads."""

from __future__ import annotations

import json
import os
from pathlib import Path

GOLDEN = Path(__file__).parents[1] / "golden"


def check(name: str, value: object) -> None:
    """Compares with tests/golden/NAME; with GOLDEN=write in the environment, writes it."""
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    file = GOLDEN / name
    if os.environ.get("GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text, (
        f"{name} changed; if on purpose: GOLDEN=write pytest, and read the diff"
    )
