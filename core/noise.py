"""Texts that hold no language: encoded files and binary output. They are kept, but nobody is paid to read them."""

from __future__ import annotations

import re
import unicodedata

LONG_RUN = 1000
_RUN = re.compile(rf"[A-Za-z0-9+/=_-]{{{LONG_RUN},}}")


def is_noise(text: str) -> bool:
    """Whether most of the text is one long run of encoded characters, or a third of it can't be printed."""
    encoded = sum(len(run) for run in _RUN.findall(text))
    if encoded * 2 > len(text):
        return True
    unprintable = sum(unicodedata.category(char) in ("Cc", "Cn", "Co") and char not in "\n\r\t" for char in text)
    return (unprintable + text.count("\ufffd")) * 3 > len(text)
