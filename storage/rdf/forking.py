"""ForkingWorker: it runs queries in children, so that it always listens."""

from __future__ import annotations

import marshal
import selectors
import time

from storage.rdf import messages as m
from storage.rdf.children import Children
from storage.rdf.worker import MISSING, Waiting, Worker

# How many queries run at once, of all datasets and of one; more wait for their turn, their deadlines running.
MOST_QUERIES, MOST_OF_ONE = 8, 6
_TIMEOUT = marshal.dumps((m.TIMEOUT,))


class ForkingWorker(Worker):
    """Holds the views, and the children that read them."""

    def __init__(self, inward: int, outward: int) -> None:
        super().__init__(inward, outward)
        self.selector = selectors.DefaultSelector()
        self.children = Children(self.shelf, self.selector)

    def serve(self) -> None:
        self.selector.register(self.inward, selectors.EVENT_READ)
        try:
            while self._turn():
                pass
        finally:
            self.children.stop_all()

    def bring(self, bring: m.Bring) -> None:
        super().bring(bring)
        if bring.is_last:
            self.children.bring(bring)

    def cancel(self, number: int) -> None:
        super().cancel(number)
        self.children.stop(number)

    def _turn(self) -> bool:
        """Waits for what comes next, and does it; False when the server is gone."""
        for key, _ in self.selector.select(self.children.seconds_left()):
            if key.fd == self.inward:
                if not self.read():
                    return False
            elif (done := self.children.hear(key.fd)) is not None:
                self.reply(*done)
        for number in self.children.stop_late_ones():
            self.reply(number, _TIMEOUT)
        while self.children.busy < MOST_QUERIES and (waiting := self._next()) is not None:
            self._start(*waiting)
        self.shelf.drop_idle()
        return True

    def _next(self) -> Waiting | None:
        """The first that waits and may run: a dataset leaves room for the others."""
        for at, (_, query, _) in enumerate(self.waiting):
            if isinstance(query, m.Parse) or self.children.busy_with(query.key.dataset_id) < MOST_OF_ONE:
                waiting = self.waiting[at]
                del self.waiting[at]
                return waiting
        return None

    def _start(self, number: int, query: m.Run | m.Parse, deadline: float) -> None:
        if time.monotonic() >= deadline:
            self.reply(number, _TIMEOUT)
        elif isinstance(query, m.Run) and self.shelf.view_for(query) is None:
            self.reply(number, MISSING)
        else:
            self.children.start(number, query, deadline)
