"""MCP over stdin and stdout: the wire belongs to the protocol alone, in UTF-8, and the process goes when it should."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

from gligabao_mcp.collector import paused

if TYPE_CHECKING:
    from anyio import CancelScope

    from core.config import Config
    from core.core import Core

EXIT_SECONDS = 5.0
PARENT_CHECK_SECONDS = 0.5


class Wire:
    """The two descriptors of the protocol and the process that holds their other ends, taken before anything heavy is
    imported.

    Afterwards descriptor 1 is stderr and 0 is empty, so that a stray print, or a child process, cannot reach the wire.
    """

    def __init__(self) -> None:
        self.parent = os.getppid()
        self.stdin, self.stdout = os.dup(0), os.dup(1)
        os.dup2(2, 1)
        with open(os.devnull, "rb") as empty:
            os.dup2(empty.fileno(), 0)
        if sys.platform == "win32":  # else the C runtime would turn \n into \r\n
            import msvcrt

            for descriptor in (self.stdin, self.stdout):
                msvcrt.setmode(descriptor, os.O_BINARY)


def run(config: Config, environ: Mapping[str, str], wire: Wire) -> None:
    """Serves until stdin ends, a signal says stop or the parent process is gone; out within five seconds then."""
    import anyio

    anyio.run(_serve, config, environ, wire)


async def _serve(config: Config, environ: Mapping[str, str], wire: Wire) -> None:
    with paused():
        from uuid import uuid4

        import anyio

        from gligabao_mcp.conversation import Launch
        from gligabao_mcp.handle import CoreHandle
        from gligabao_mcp.mcp_door.server import create_mcp_server
        from gligabao_mcp.stdio_transport import transport

    launch = Launch(str(uuid4()), environ.get("CLAUDE_CODE_SESSION_ID", ""))
    handle = CoreHandle(lambda: _open(config))
    server = create_mcp_server(handle, config, launch)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_stop_on_signal, tasks.cancel_scope)
            tasks.start_soon(_stop_without_parent, wire.parent, tasks.cancel_scope)
            async with transport(wire.stdin, wire.stdout) as (read, write):
                await server.run(read, write, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    finally:
        _leave_in_any_case()
        with anyio.CancelScope(shield=True):
            await handle.close()


@asynccontextmanager
async def _open(config: Config) -> AsyncGenerator[Core]:
    """The memory. What it needs is imported at the first call, for a database and its drivers are several times as
    heavy as all the rest; in a thread, so that pings are answered and signals heard meanwhile."""
    open_core = await asyncio.to_thread(_import_wiring)
    async with open_core(config) as core:
        yield core


def _import_wiring() -> Callable[[Config], AbstractAsyncContextManager[Core]]:
    with paused():
        from gligabao_mcp.wiring import open_core

    return open_core


async def _stop_on_signal(scope: CancelScope) -> None:
    import anyio

    if sys.platform == "win32":
        return  # no receiver there; hosts close stdin
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as received:
        async for _ in received:
            _leave_in_any_case()
            scope.cancel()
            return


async def _stop_without_parent(parent: int, scope: CancelScope) -> None:
    """A host that was killed closes nothing when another process still holds the pipe."""
    import anyio

    while os.getppid() == parent:
        await anyio.sleep(PARENT_CHECK_SECONDS)
    _leave_in_any_case(EXIT_SECONDS - PARENT_CHECK_SECONDS)
    scope.cancel()


def _leave_in_any_case(seconds: float = EXIT_SECONDS) -> None:
    """Ends the process after this time, whatever still blocks: a host that does not read, a disk that hangs."""

    def leave() -> None:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(0)

    timer = threading.Timer(seconds, leave)
    timer.daemon = True
    timer.start()
