"""gligabao serve: the HTTP application on one address, until a signal says stop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from types import FrameType

import click
import uvicorn

from core.access import Token
from core.config import Config
from core.errors import InvalidRequest
from gligabao_mcp.addresses import is_loopback
from gligabao_mcp.bearer import asks_for_tokens, check_exposure
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.http import MCP_PATH, create_app
from gligabao_mcp.wiring import open_core

# Calls that go on this long after a signal are answered that the server leaves.
GRACE_SECONDS = 5
# Then connections are cut. Hosts keep one open as long as they live: a server that waited for it would never end.
CUT_SECONDS = 7
# What runs by then has this long to end.
DRAIN_SECONDS = 30.0


def run(config: Config) -> None:
    """Serves; raises what keeps it from starting, InvalidRequest where it would let strangers in unasked."""
    check_exposure(config)
    asyncio.run(_serve(config))


async def _serve(config: Config) -> None:
    handle = CoreHandle(lambda: open_core(config, drain=DRAIN_SECONDS))
    listening = _listen(config.host, config.port)
    try:
        # Here as well as in the application's lifespan, so that a failure is a sentence, not a trace.
        core = await handle.core()
        app = create_app(handle, config)
        _announce(config, listening.getsockname()[1], await core.tokens.all())
        server = _Server(
            uvicorn.Config(
                app,
                log_config=None,
                log_level=config.log_level,
                access_log=False,
                timeout_graceful_shutdown=CUT_SECONDS,
            ),
            handle,
        )
        await server.serve(sockets=[listening])
    finally:
        listening.close()
        await handle.close()


class _Server(uvicorn.Server):
    """Ends after a signal with exit code 0, where uvicorn would raise the signal again. Who waits for a turn that will
    not come, or for longer than we do, is told so before the connections are closed."""

    def __init__(self, config: uvicorn.Config, handle: CoreHandle) -> None:
        super().__init__(config)
        self._handle = handle

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._handle.stop()
        ending = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._handle.give_up)
        await super().shutdown(sockets)
        ending.cancel()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        try:
            with super().capture_signals(), _on_hang_up(self.handle_exit):
                try:
                    yield
                finally:
                    self._captured_signals.clear()
        except KeyboardInterrupt:
            return


@contextmanager
def _on_hang_up(leave: Callable[[int, FrameType | None], None]) -> Generator[None]:
    """Leaves also when the terminal that it was started in is closed, unless it was told to outlive that (nohup)."""
    if sys.platform == "win32" or signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        yield
        return
    before = signal.signal(signal.SIGHUP, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address[:2], family=family, backlog=2048)
    except socket.gaierror as error:
        raise InvalidRequest(f"can't listen on {host}:{port}: {error.strerror}", param="host") from None
    except OSError as error:
        raise InvalidRequest(
            f"can't listen on {host}:{port}: {os.strerror(error.errno) if error.errno else error}"
        ) from None
    # Where a socket does not say that it is TCP, asyncio leaves Nagle's algorithm on: 40 ms for each answer.
    return socket.socket(family, listening.type, socket.IPPROTO_TCP, listening.detach())


def _announce(config: Config, port: int, tokens: Sequence[Token]) -> None:
    host = f"[{config.host}]" if ":" in config.host else config.host
    click.echo(f"gligabao listens on http://{host}:{port} (REST: see /openapi.json; MCP: {MCP_PATH})", err=True)
    click.echo(who_may_call(config, tokens), err=True)
    sys.stderr.flush()


def who_may_call(config: Config, tokens: Sequence[Token]) -> str:
    """What whoever starts a server should know of whom it answers."""
    if not asks_for_tokens(config):
        if not is_loopback(config.host):
            return "warning: no request needs a token, and this address is open to other machines"
        if config.allowed_hosts:
            return "warning: no request needs a token, and allowed_hosts lets other machines in (--tokens on)"
        return "no request needs a token: this machine alone is served (--tokens on)"
    holding = sum(token.holds_at(datetime.now(UTC)) for token in tokens)
    if not holding:
        return "every request needs a token, and there is none yet: gligabao token create --user NAME"
    return f"every request needs a token; {holding} of them hold{'s' if holding == 1 else ''} (gligabao token list)"
