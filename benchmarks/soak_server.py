"""The server of a soak, which is stopped and started again under load."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Mapping
from typing import IO

import httpx2
import psutil

DATABASE = "gligabao.db"
LEAVE_SECONDS = 60.0


class Server:
    """`gligabao serve`, and when it was not to be had."""

    def __init__(self, environ: Mapping[str, str], log: IO[bytes]) -> None:
        self._log = log
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._environ = dict(environ)
        self._process: asyncio.subprocess.Process | None = None
        self._up_again = 0.0
        self.down = False
        """From the moment that it is asked to leave until it answers again."""

    async def start(self) -> None:
        command = (sys.executable, "-m", "gligabao_mcp", "serve", "--port", str(self.port))
        self._process = await asyncio.create_subprocess_exec(*command, env=self._environ, stderr=self._log)
        async with httpx2.AsyncClient() as client:
            for _ in range(600):
                try:
                    if (await client.get(f"http://127.0.0.1:{self.port}/readyz")).status_code == 200:
                        return
                except httpx2.TransportError:
                    await asyncio.sleep(0.1)
        raise RuntimeError("the server did not start")

    async def stop(self) -> int:
        """SIGTERM; the exit code."""
        self.down = True
        assert self._process
        self._process.terminate()
        return await asyncio.wait_for(self._process.wait(), LEAVE_SECONDS)

    def kill(self) -> None:
        """Ends it in any case."""
        if self._process and self._process.returncode is None:
            self._process.kill()

    async def restart(self) -> int:
        code = await self.stop()
        await self.start()
        self.down, self._up_again = False, time.monotonic()
        return code

    def was_down_since(self, moment: float) -> bool:
        """Whether a call that began then may have met a server that was going or gone."""
        return self.down or self._up_again >= moment

    def memory_and_files(self) -> tuple[int, int]:
        """Resident bytes, and open descriptors without the pooled connections to the database and to the model: a pool
        opens one more when so many are needed at once for the first time, up to its limit."""
        assert self._process
        process = psutil.Process(self._process.pid)
        pooled = sum(DATABASE in file.path for file in process.open_files())
        pooled += sum(bool(at.raddr) and at.laddr.port != self.port for at in process.net_connections("tcp"))
        return process.memory_info().rss, process.num_fds() - pooled
