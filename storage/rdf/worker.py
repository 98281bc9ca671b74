"""The process that holds the views. It answers each query in a child of its own, which can be stopped without harm.

It imports pyoxigraph, the standard library, and what does the same: so it is there in a moment, and forks are small.
"""

from __future__ import annotations

import marshal
import os
import pickle
import time
from collections import deque

from storage.rdf import messages as m
from storage.rdf.answering import answered
from storage.rdf.frames import first_in, write
from storage.rdf.shelf import Shelf

_PIPE_BYTES = 1 << 20

Waiting = tuple[int, m.Run | m.Parse, float]
"""The number of a call, its query, and by when it has to be done."""

_DONE, MISSING = marshal.dumps((m.DONE,)), marshal.dumps((m.MISSING,))


class Worker:
    """Reads what the server asks, in order, and answers when it can."""

    def __init__(self, inward: int, outward: int) -> None:
        self.inward, self.outward = inward, outward
        self.shelf = Shelf()
        self.waiting: deque[Waiting] = deque()
        self._heard = bytearray()

    def serve(self) -> None:
        """Until the server is gone. It serves no others while a query runs, and nothing stops that but the end of the
        process: for systems without fork."""
        while self.read():
            while self.waiting:
                number, query, _ = self.waiting.popleft()
                body, is_spoilt = answered(self.shelf, query)
                self.reply(number, body)
                if is_spoilt and isinstance(query, m.Run):
                    self.shelf.drop(query.key)
            self.shelf.drop_idle()

    def read(self) -> bool:
        """Takes in what the server wrote; False when it is gone."""
        part = os.read(self.inward, _PIPE_BYTES)
        self._heard += part
        while (message := first_in(self._heard)) is not None:
            self._take(message[0], pickle.loads(message[1]))
        return bool(part)

    def reply(self, number: int, body: bytes) -> None:
        """Writes an answer. Raises BrokenPipeError where nobody reads it."""
        write(self.outward, number, body)

    def bring(self, bring: m.Bring) -> None:
        """Takes rows into the views."""
        self.shelf.bring(bring)

    def cancel(self, number: int) -> None:
        """Nobody waits for that answer any more."""
        self.waiting = deque(item for item in self.waiting if item[0] != number)

    def _take(self, number: int, message: m.Message) -> None:
        if isinstance(message, m.Cancel):
            self.cancel(message.number)
        elif isinstance(message, m.Held):
            self.reply(number, marshal.dumps((m.HELD, *self.shelf.held(message.dataset_id))))
        elif isinstance(message, m.Bring):
            self.reply(number, self._brought(message))
        else:
            self.waiting.append((number, message, time.monotonic() + message.seconds))

    def _brought(self, message: m.Bring) -> bytes:
        try:
            self.bring(message)
        except Exception as failure:
            self.shelf.drop(message.key)
            return marshal.dumps((m.FAILED, type(failure).__name__))
        return _DONE
