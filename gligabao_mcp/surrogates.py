"""Lone surrogates in JSON text: halves of a character that clients cut in two, and that strict readers refuse."""

from __future__ import annotations

import re

# In this order: a whole pair, a half alone, and any other escape, so that an escaped backslash is read as one.
_ESCAPE = re.compile(
    rb"(?P<pair>\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
    rb"|\\.",
    re.DOTALL,
)
_MAYBE = re.compile(rb"\\u[dD][89a-fA-F]")


def without_lone_surrogates(json_text: bytes) -> bytes:
    r"""The same JSON text, of the same length, with U+FFFD in the place of every half pair.

    >>> without_lone_surrogates(rb'"caf\ud83d and \ud83d\ude00"')
    b'"caf\\ufffd and \\ud83d\\ude00"'
    """
    if not _MAYBE.search(json_text):
        return json_text
    return _ESCAPE.sub(lambda match: rb"\ufffd" if match["half"] else match[0], json_text)
