"""Texts that hold no language: encoded files and binary output. They are kept, but nobody is paid to read them."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

LONG_RUN = 1000
# In one piece, or cut into lines as `base64` and mail do (at 76, 72 or 64 characters); the last one may be short.
_RUN = re.compile(r"(?:[A-Za-z0-9+/=_-]{60,}\s*)+[A-Za-z0-9+/=_-]*")


def is_noise(text: str) -> bool:
    """Whether most of the text is one long run of encoded characters, or a third of it can't be printed."""
    encoded = sum(len(run) for run in _RUN.findall(text) if len(run) >= LONG_RUN)
    if encoded * 2 > len(text):
        return True
    # By its different characters: a text has few of them, however long it is.
    unprintable = sum(times for char, times in Counter(text).items() if _is_unprintable(char))
    return unprintable * 3 > len(text)


def _is_unprintable(char: str) -> bool:
    return char == "\ufffd" or (unicodedata.category(char) in ("Cc", "Cn", "Co") and char not in "\n\r\t")
