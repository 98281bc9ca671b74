"""A child of the worker: it computes and writes its answers. No network, no files, so much memory and time."""

from __future__ import annotations

import ctypes
import gc
import marshal
import os
import pickle
import resource
import signal
import sys
import time
from typing import NoReturn

from storage.rdf import messages as m
from storage.rdf.answering import answered, refused
from storage.rdf.frames import first_in, write
from storage.rdf.shelf import Shelf

# What queries may take beyond the memory that the views have mapped, and what a child may keep for the next one.
MOST_BYTES, KEPT_BYTES = 700 << 20, 200 << 20
# The deadline of a query is kept by the worker; a little later by the child itself, should the worker be busy.
_LATER = 0.1
_FILES = 1 << 16
_PIPE_BYTES = 1 << 20
# In front of an answer: whether the child takes another query.
MORE, LAST = 0, 1
_LIBC, _PR_SET_PDEATHSIG = ctypes.CDLL(None), 1


def live(shelf: Shelf, inward: int, outward: int, worker: int) -> NoReturn:
    """The whole life of a child: it must never come back into the loop of the worker."""
    status = 1
    try:
        _confine((inward, outward), worker)
        _serve(shelf, inward, outward)
        status = 0
    finally:
        os._exit(status)


def _serve(shelf: Shelf, inward: int, outward: int) -> None:
    """Answers queries until one leaves a view that no other can use, or too much memory."""
    heard = bytearray()
    least = _peak()
    while part := os.read(inward, _PIPE_BYTES):
        heard += part
        while (message := first_in(heard)) is not None:
            asked = pickle.loads(message[1])
            if isinstance(asked, m.Bring):
                shelf.bring(asked)
                continue
            signal.setitimer(signal.ITIMER_REAL, max(asked.deadline - time.monotonic(), 0.0) + _LATER)
            body, is_spoilt = answered(shelf, asked.query)
            signal.setitimer(signal.ITIMER_REAL, 0)
            is_last = is_spoilt or _peak() - least > KEPT_BYTES
            write(outward, LAST if is_last else MORE, body)
            if is_last:
                return


def _confine(pipes: tuple[int, int], worker: int) -> None:
    """Leaves the child nothing but its pipes. Raises OSError or ValueError where that is not to be had.

    Where the system counts memory otherwise than Linux does, its amount is not limited.
    """
    gc.disable()
    _die_with(worker)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    first, last = sorted(pipes)
    for low, high in ((0, first), (first + 1, last), (last + 1, _FILES)):
        os.closerange(low, high)
    if sys.platform == "linux":
        most = _mapped() + MOST_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # From here on no file and no socket can be opened.
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def _die_with(worker: int) -> None:
    """Lets the child end at once when the worker does. Elsewhere than on Linux it goes on to its deadline."""
    if sys.platform == "linux":
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != worker:
            os._exit(1)


def told_by_end(status: int) -> bytes:
    """The answer for the caller of a child that ended without one, by its exit code: negative for a signal."""
    match -status:
        case signal.SIGALRM:
            return marshal.dumps((m.TIMEOUT,))
        case signal.SIGSEGV | signal.SIGBUS:
            return refused("it is nested too deeply")
        case signal.SIGABRT | signal.SIGKILL:
            return marshal.dumps((m.TOO_LARGE,))
        case _:
            return marshal.dumps((m.FAILED, f"exit code {status}"))


def _mapped() -> int:
    """The bytes of memory that this process has mapped."""
    with open("/proc/self/statm", "rb") as statm:
        return int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _peak() -> int:
    """The most bytes that this process used so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
