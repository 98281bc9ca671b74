"""What the heap of the C library keeps."""

from __future__ import annotations

import ctypes
import sys

_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 128 * 1024


def give_back_large_blocks() -> None:
    """From now on, blocks of 128 KiB and more go back to the system when they are freed. Only glibc needs it.

    It begins like that, but with each such block that is freed the size from which it does so grows, up to 32 MiB. The
    vector index frees many, among small ones that stay: 70 MB of holes after 600 calls of remember and of query.
    """
    if sys.platform == "linux" and (mallopt := getattr(ctypes.CDLL(None), "mallopt", None)):
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
