"""SDKs are imported when they are first needed, and off the event loop: one alone may take seconds."""

from __future__ import annotations

from importlib import import_module

from anyio import to_thread

from gligabao_mcp.collector import paused

# Not sys.modules: a module stands there from the moment its import begins.
_there: set[str] = set()


async def imported(*modules: str) -> None:
    """Returns when the modules are there; others are served meanwhile."""
    for module in modules:
        if module not in _there:
            with paused():
                await to_thread.run_sync(import_module, module)
            _there.add(module)
