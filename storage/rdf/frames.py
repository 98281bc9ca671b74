"""Frames: how messages and answers go through a pipe."""

from __future__ import annotations

import os
import struct

# In front of every message and answer: the number of the call, and how many bytes follow.
HEAD = struct.Struct("<QQ")


def write(pipe: int, number: int, body: bytes) -> None:
    """Writes a message or an answer. Raises BrokenPipeError where nobody reads it."""
    left = memoryview(HEAD.pack(number, len(body)) + body)
    while left:
        left = left[os.write(pipe, left) :]


def first_in(heard: bytearray) -> tuple[int, bytes] | None:
    """The first message or answer of what was heard, cut out of it; None while it is not whole."""
    if len(heard) < HEAD.size:
        return None
    number, size = HEAD.unpack_from(heard)
    end = HEAD.size + size
    if len(heard) < end:
        return None
    body = bytes(memoryview(heard)[HEAD.size : end])
    del heard[:end]
    return number, body
