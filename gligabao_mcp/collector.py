"""The garbage collector, out of the way of imports."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused() -> Generator[None]:
    """Nothing is collected inside the block, and what came up there is never looked through again.

    An import makes thousands of objects that stay, and again and again the collector goes through all of them: a fifth
    of the time to the first answer (benchmarks/first_answer.py).
    """
    if not gc.isenabled():  # another thread is in such a block, or the process wants no collector
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
