"""Cold start over stdio: from starting the process to the answer of tools/list, beside a bare server of the SDK.

    python -m benchmarks.cold_start [--runs 9] [--most 1.3]

Both are measured in turns in one run, so the ratio holds on a busy machine too. Exit code 1 when it is over `--most`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile

from benchmarks.pipes import BARE_SERVER, GLIGABAO, environment, in_turns, list_tools


def main() -> int:
    """Prints the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--most", type=float, default=1.3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        environ = environment(home)
        starts = {"bare": (list_tools, BARE_SERVER, environ), "gligabao": (list_tools, GLIGABAO, environ)}
        median = in_turns(starts, options.runs)
    ratio = median["gligabao"] / median["bare"]
    print(f"ratio     {ratio:.2f}  (at most {options.most})")
    return 0 if ratio <= options.most else 1


if __name__ == "__main__":
    sys.exit(main())
