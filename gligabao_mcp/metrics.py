"""The numbers that Prometheus reads at /metrics. No user, dataset or session is a label."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from core.events import Event
from core.ports import ModelCall
from gligabao_mcp import __version__, rest
from gligabao_mcp.callers import caller_of
from gligabao_mcp.errors import CLIENT_GONE, failure
from gligabao_mcp.handle import CoreHandle

if TYPE_CHECKING:
    from core.graph import Stored

# From a look-up on this machine to a model that thinks for minutes.
SECONDS = (0.005, 0.02, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 120, 300)
UNKNOWN = "unknown"


class Metrics:
    """Counts what happens in one application: a core.events.Sink and a core.events.Meter."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(f"gligabao_{name}", text, labels, registry=registry)

        def seconds(name: str, text: str, *labels: str) -> Histogram:
            return Histogram(f"gligabao_{name}_seconds", text, labels, registry=registry, buckets=SECONDS)

        called = ("provider", "model", "stage")
        self._requests = counter("http_requests", "HTTP requests.", "route", "method", "status")
        self._request_seconds = seconds("http_request_duration", "Time to answer an HTTP request.", "route", "method")
        self._mcp = counter("mcp_calls", "Calls of MCP tools: ok, or the code of the failure.", "tool", "outcome")
        self._runs = counter("remember_runs", "Runs of remember that ended.", "status")
        self._stage_seconds = seconds("remember_stage_duration", "Time of one stage of remember.", "stage")
        self._queue = Gauge("gligabao_remember_queue_depth", "Runs that wait for their turn.", registry=registry)
        self._queue_seconds = seconds("remember_queue_wait", "How long a run waited for its turn.")
        self._query_seconds = seconds("query_duration", "Time to answer a question.")
        self._llm = counter("llm_requests", "Model calls: ok, or error.", *called, "outcome")
        self._tokens = counter("llm_tokens", "Tokens of model calls.", *called, "kind")
        self._cost = counter("llm_cost_usd", "US dollars of model calls.", *called)
        self._vectors = counter("vectors_written", "Vectors written to an index.", "index")
        self._edges = counter("edges", "Facts that were inserted, merged into stored ones, or closed.", "action")
        build = Gauge("gligabao_build_info", "The version that runs.", ("version",), registry=registry)
        build.labels(__version__).set(1)

    def take(self, event: Event) -> None:
        """core.events.Sink."""
        if event.type == "query":
            self._query_seconds.observe(event.latency_ms / 1000)

    def called(self, call: ModelCall, cost: float) -> None:
        """core.events.Meter."""
        inference, usage = call.inference, call.inference.usage
        labels = (inference.provider, inference.model, call.stage)
        self._llm.labels(*labels, "error" if inference.error else "ok").inc()
        self._cost.labels(*labels).inc(cost)
        kinds = {
            "input": usage.input,
            "cached_input": usage.cached,
            "cache_write": usage.cache_write,
            "output": usage.output,
            "thinking": usage.thinking,
        }
        for kind, tokens in kinds.items():
            if tokens:
                self._tokens.labels(*labels, kind).inc(tokens)

    def staged(self, stage: str, seconds: float) -> None:
        self._stage_seconds.labels(stage).observe(seconds)

    def ran(self, status: str) -> None:
        self._runs.labels(status).inc()

    def waited(self, seconds: float) -> None:
        self._queue_seconds.observe(seconds)

    def stored(self, stored: Stored) -> None:
        inserted = sum(edge.created_at == stored.created_at for edge in stored.edges)
        counts = {"inserted": inserted, "merged": len(stored.edges) - inserted, "closed": len(stored.invalidated)}
        for action, count in counts.items():
            self._edges.labels(action).inc(count)

    def written(self, index: str, vectors: int) -> None:
        self._vectors.labels(index).inc(vectors)

    def tool_called(self, tool: str, error: str | None) -> None:
        self._mcp.labels(tool, error or "ok").inc()

    def answered(self, route: str, method: str, status: int, seconds: float) -> None:
        """An HTTP request was answered."""
        self._requests.labels(route, method, str(status)).inc()
        self._request_seconds.labels(route, method).observe(seconds)

    async def text(self, handle: CoreHandle) -> bytes:
        """Everything in the text format of Prometheus, with the queue as it is now."""
        core = await handle.core()
        self._queue.set(await core.runs.waiting())
        return generate_latest(self.registry)


def route(metrics: Metrics, handle: CoreHandle) -> Route:
    """GET /metrics."""

    async def endpoint(request: Request) -> Response:
        try:
            if caller := caller_of(request):
                caller.needs("admin")
            text = await metrics.text(handle)
        except Exception as error:
            return rest.answer(failure(error), request.scope)
        return Response(text, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    return Route("/metrics", endpoint, name="metrics")


class Counted:
    """Counts every HTTP request, whatever becomes of it, under the route that it matches."""

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: Sequence[Route]) -> None:
        self._app = app
        self._metrics = metrics
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            status = CLIENT_GONE
            raise
        finally:
            path, method = self._names(scope)
            self._metrics.answered(path, method, status, time.perf_counter() - began)

    def _names(self, scope: Scope) -> tuple[str, str]:
        """The route and the method; one name for all that nobody serves, or strangers could make labels without end."""
        found = next((route for route in self._routes if route.matches(scope)[0] != Match.NONE), None)
        method = str(scope["method"])
        return found.path if found else UNKNOWN, method if method in _METHODS else UNKNOWN


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
