"""gligabao serve: the HTTP application on one address, until a signal says stop."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Generator
from contextlib import contextmanager

import click
import uvicorn

from core.config import Config
from core.errors import InvalidRequest
from gligabao_mcp.addresses import is_loopback
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.http import MCP_PATH, create_app
from gligabao_mcp.wiring import open_core

# Hosts keep a stream open as long as they live: a server that waited for it would never end.
GRACE_SECONDS = 5
# What runs by then has this long to end.
DRAIN_SECONDS = 30.0


def run(config: Config) -> None:
    """Serves; raises what keeps it from starting."""
    asyncio.run(_serve(config))


async def _serve(config: Config) -> None:
    handle = CoreHandle(lambda: open_core(config, drain=DRAIN_SECONDS))
    listening = _listen(config.host, config.port)
    try:
        await (
            handle.core()
        )  # here as well as in the application's lifespan, so that a failure is a sentence, not a trace
        _announce(config, listening.getsockname()[1])
        server = _Server(
            uvicorn.Config(
                create_app(handle, config),
                log_config=None,
                log_level=config.log_level,
                access_log=False,
                timeout_graceful_shutdown=GRACE_SECONDS,
            ),
            handle,
        )
        await server.serve(sockets=[listening])
    finally:
        listening.close()
        await handle.close()


class _Server(uvicorn.Server):
    """Ends after a signal with exit code 0, where uvicorn would raise the signal again. Who waits for a turn that will
    not come is told so before the connections are closed."""

    def __init__(self, config: uvicorn.Config, handle: CoreHandle) -> None:
        super().__init__(config)
        self._handle = handle

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._handle.stop()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        try:
            with super().capture_signals():
                try:
                    yield
                finally:
                    self._captured_signals.clear()
        except KeyboardInterrupt:
            return


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise InvalidRequest(
            f"can't listen on {host}:{port}: {os.strerror(error.errno) if error.errno else error}"
        ) from None


def _announce(config: Config, port: int) -> None:
    host = f"[{config.host}]" if ":" in config.host else config.host
    click.echo(f"gligabao listens on http://{host}:{port} (REST: see /openapi.json; MCP: {MCP_PATH})", err=True)
    if not is_loopback(config.host):
        click.echo("warning: no request needs credentials, and this address is open to other machines", err=True)
    sys.stderr.flush()
