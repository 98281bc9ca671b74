"""Which process this is, and whether another one is still alive: the owner of runs and leases."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

import psutil

_BOOT = Path("/proc/sys/kernel/random/boot_id")


@cache
def this_process() -> str:
    """`host|pid|start`: never the name of another process, even when the pid comes again."""
    return f"{socket.gethostname()}|{os.getpid()}|{_started(os.getpid())}"


def is_gone(owner: str) -> bool:
    """Whether that process is known to have ended. One on another host is never known to have."""
    host, pid, start = owner.split("|")
    if host != socket.gethostname():
        return False
    try:
        return _started(int(pid)) != start
    except (psutil.NoSuchProcess, FileNotFoundError, ProcessLookupError):
        return True


def _started(pid: int) -> str:
    """When the process started, in a way that a step of the clock doesn't change: Linux counts it from the boot."""
    if not _BOOT.exists():
        return str(psutil.Process(pid).create_time())
    # The name of the command stands in parentheses and may hold anything; the start is field 22 of the line.
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    return f"{_BOOT.read_text('utf-8').strip()}:{fields[19]}"
