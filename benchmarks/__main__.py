"""Every benchmark, one after the other:  python -m benchmarks"""

from __future__ import annotations

import subprocess
import sys

SCRIPTS = (
    "cold_start",
    "first_answer",
    "memory",
    "remember",
    "document",
    "retrieval",
    "rdf_view",
    "names",
    "ask",
    "export",
    "extraction",
    "soak",
)

if __name__ == "__main__":
    for script in SCRIPTS:
        print(f"\n== {script}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{script}"], check=False)
