"""Jev, TypeSafe's system 1 model: predicts how many entities a text will yield, and which kind of question one is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from core.ask.ports import Picked
from core.evals.trace import RouteKind
from core.inferences import Inference, Usage
from core.ports import Complexity, Reply
from core.prompts.route import KINDS
from gligabao_mcp.providers.failing import Gate, Refusal, Unusable, reading
from gligabao_mcp.providers.importing import imported

if TYPE_CHECKING:
    from httpx2 import AsyncClient

PROVIDER = "typesafe"
MODEL = "jev-latest"
BASE_URL = "https://api.typesafe.ai"
MAX_BYTES = 32 * 1024
QUESTION: Final = {
    "type": "choice",
    "instructions": "How many distinct entities will a knowledge graph of this text hold?",
    "criteria": {"simple": "up to 5 entities", "medium": "6 to 20 entities", "complex": "more than 20 entities"},
}
ROUTE: Final = {
    "type": "choice",
    "instructions": "What does the answer to the question, the first part of the state, need from the graph that the "
    "rest describes?",
    "criteria": dict(KINDS),
}


@dataclass(frozen=True, slots=True)
class _Chosen:
    """One of the criteria, and how likely each is."""

    choice: str
    confidence: float
    probabilities: Mapping[str, float]


class Jev:
    """A DecisionModel and a Router over POST /v1/systemone. Advisory, so it gets little time and no second try."""

    def __init__(self, *, api_key: str, base_url: str = BASE_URL, timeout: float = 3.0) -> None:
        self.model = MODEL
        self._api_key = api_key
        self._base_url = base_url.rstrip("/")
        self._gate = Gate(PROVIDER, "Jev", "JEV_API_KEY", timeout, secret=api_key)
        self._client: AsyncClient | None = None

    async def classify_complexity(self, text: str) -> Reply[Complexity]:
        """How many entities the text will yield, as predicted from its first 32 KiB."""
        chosen, inference = await self._choose("complexity", QUESTION, text)
        choice = cast("Any", chosen.choice)  # one of the criteria
        return Reply(Complexity(choice, chosen.confidence, chosen.probabilities), (inference,))

    async def pick_route(self, question: str, context: str, description: str) -> Reply[Picked]:
        """The kind of the question, by the first 32 KiB of it and of what is known."""
        known = "\n\n".join(part for part in (question, context, description) if part)
        chosen, inference = await self._choose("route", ROUTE, known)
        probabilities = cast("Mapping[RouteKind, float]", chosen.probabilities)
        return Reply(Picked(cast("RouteKind", chosen.choice), chosen.confidence, probabilities), (inference,))

    async def warm(self) -> None:
        """Imports what the first call needs."""
        await imported("httpx2")

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _choose(self, name: str, question: Mapping[str, Any], state: str) -> tuple[_Chosen, Inference]:
        await self.warm()
        (chosen, inference), latency_ms = await self._gate.call(
            lambda: self._send(name, question, first_bytes(state)), _refusal, model=MODEL
        )
        return chosen, replace(inference, latency_ms=latency_ms)

    async def _send(self, name: str, question: Mapping[str, Any], state: str) -> tuple[_Chosen, Inference]:
        from httpx2 import AsyncClient

        if self._client is None:
            self._client = AsyncClient(timeout=None)  # the gate has the deadline
        response = await self._client.post(
            f"{self._base_url}/v1/systemone",
            headers={"Authorization": f"Bearer {self._api_key}"},
            json={"model": MODEL, "state": state, "questions": {name: question}},
        )
        response.raise_for_status()
        with reading():
            body = response.json()
            chosen = _chosen(body["answers"][name], question["criteria"])
            return chosen, _inference(body, response.headers.get("x-typesafe-request-id", ""))


def first_bytes(text: str) -> str:
    """The first 32 KiB of the text in UTF-8, without half a character at the end."""
    return text.encode("utf-8", "replace")[:MAX_BYTES].decode("utf-8", "ignore")


def _chosen(said: Any, criteria: Mapping[str, str]) -> _Chosen:
    if said["choice"] not in criteria:
        raise Unusable(f"chose none of {', '.join(criteria)}")
    stated = said["probabilities"]
    chosen = _Chosen(
        said["choice"], float(said["confidence"]), {name: float(stated[name]) for name in criteria if name in stated}
    )
    if not all(0 <= likely <= 1 for likely in (chosen.confidence, *chosen.probabilities.values())):
        raise Unusable("answered with what is no probability")
    return chosen


def _inference(body: Any, request_id: str) -> Inference:
    usage = body["usage"]
    tokens = Usage(input=int(usage["input_tokens"]), output=int(usage["output_tokens"]))
    return Inference(PROVIDER, str(body["model"]), MODEL, tokens, request_id=request_id)


def _refusal(error: Exception) -> Refusal | None:
    from httpx2 import HTTPStatusError, TransportError

    if isinstance(error, HTTPStatusError):
        response = error.response
        return Refusal(
            response.status_code, response.reason_phrase, request_id=response.headers.get("x-typesafe-request-id", "")
        )
    return Refusal(0, "can't be reached") if isinstance(error, TransportError) else None
