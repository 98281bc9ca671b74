"""Which addresses can only be this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether the name or address can only be this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(url: str) -> str:
    """The host that a URL names; empty where it can't be read."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
