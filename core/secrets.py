"""Secrets in a text: values with the shape of a key, token or password, masked before the text goes anywhere."""

from __future__ import annotations

import re

_PASSWORD = r"(?:password|passwd|pwd|passphrase)(?:\s+(?:of|for|to)\s+(?:[\w.-]+\s+){0,3}?[\w.-]+)?"
_STATED = r"\s*(?::|=|\bis\b)\s*[\"']?"

# Kind and shape. A pattern with a group masks the group alone: what names the secret stays. A value that starts with [
# was masked before. Repeats are bounded: a text may be 1 MiB, and any part of it may look like a beginning.
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("private key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.S)),
    ("API key", re.compile(r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}|\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{10,}")),
    ("API key", re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{35}\b")),
    ("token", re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    ("token", re.compile(r"\beyJ[\w-]{8,2000}\.[\w-]{8,2000}\.[\w-]{8,}")),
    ("token", re.compile(r"(?i)\bbearer\s+([\w.~+/-]{16,}=*)")),
    (
        "secret",
        re.compile(
            rf"(?i)\b(?:api[ _-]?key|[\w-]{{0,40}}secret|[\w-]{{0,40}}token){_STATED}(?!\[)(?=\S*\d)([^\s\"',;]{{12,}})"
        ),
    ),
    ("password", re.compile(rf"(?i)\b{_PASSWORD}\s*[:=]\s*[\"']?(?!\[)([^\s\"',;]{{4,}})")),
    ("password", re.compile(rf"(?i)\b{_PASSWORD}\s+(?:is|was)\s+[\"']([^\"']{{4,}})")),
    # Plain words after "is" say something about a password ("is required"): a value has a digit or a sign in it.
    ("password", re.compile(rf"(?i)\b{_PASSWORD}\s+(?:is|was)\s+(?=[^\s,;]*(?:\d|[@#$%^&*+=~!]\w))([^\s\"',;]{{4,}})")),
    ("password", re.compile(r"\b[a-z][a-z0-9+.-]{0,30}://[^\s/:@]{1,200}:([^\s/@]{1,200})@")),
)


def mask(text: str) -> tuple[str, int]:
    """The text with every secret replaced by its kind, such as `[API key]`, and how many there were."""
    total = 0
    for kind, shape in _SHAPES:
        text, count = shape.subn(lambda match, kind=kind: _masked(match, kind), text)
        total += count
    return text, total


def _masked(match: re.Match[str], kind: str) -> str:
    if not match.re.groups:
        return f"[{kind}]"
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    return f"{match.group()[:start]}[{kind}]{match.group()[end:]}"
