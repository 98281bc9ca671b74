"""Which process this is, and whether another one is still alive: the owner of runs and leases."""

from __future__ import annotations

import os
import socket

import psutil


def this_process() -> str:
    """`host|pid|start`: never the name of another process, even when the pid comes again."""
    return f"{socket.gethostname()}|{os.getpid()}|{psutil.Process().create_time():.2f}"


def is_gone(owner: str) -> bool:
    """Whether that process is known to have ended. One on another host is never known to have."""
    host, pid, start = owner.split("|")
    if host != socket.gethostname():
        return False
    try:
        return f"{psutil.Process(int(pid)).create_time():.2f}" != start
    except psutil.NoSuchProcess:
        return True
