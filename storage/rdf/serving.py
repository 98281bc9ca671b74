"""The life of the process that holds the views: process.py starts it with a pipe on stdin and one on stdout, and it
ends when the server does."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import NoReturn

from storage.rdf.worker import Worker


def main(*, forks: bool) -> NoReturn:
    """Serves on stdin and stdout until they close or SIGTERM comes. An interrupt at the terminal is the server's."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    gc.disable()  # nothing here makes cycles, and a collection would write into what children share
    inward, outward = os.dup(0), os.dup(1)
    with open(os.devnull, "r+b") as nothing:
        for standard in (0, 1):
            os.dup2(nothing.fileno(), standard)
    with suppress(BrokenPipeError):  # the server is gone
        _worker(forks)(inward, outward).serve()
    sys.exit()


def _worker(forks: bool) -> type[Worker]:
    if not forks:
        return Worker
    # It needs what Windows has not.
    from storage.rdf.forking import ForkingWorker

    return ForkingWorker


def _end(*_: object) -> NoReturn:
    sys.exit()
