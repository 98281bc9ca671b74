"""SDKs are imported when they are first needed, and off the event loop: one alone may take seconds."""

from __future__ import annotations

import sys
from importlib import import_module

from anyio import to_thread


async def imported(*modules: str) -> None:
    """Returns when the modules are there; others are served meanwhile."""
    for module in modules:
        if module not in sys.modules:
            await to_thread.run_sync(import_module, module)
