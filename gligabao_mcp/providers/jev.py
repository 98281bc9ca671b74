"""Jev, TypeSafe's system 1 model: predicts how many entities a text will yield."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from core.inferences import Inference, Usage
from core.ports import Complexity, Reply
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


class Jev:
    """A DecisionModel over POST /v1/systemone. Advisory, so it gets little time and no second try."""

    def __init__(self, *, api_key: str, base_url: str = BASE_URL, timeout: float = 3.0) -> None:
        self.model = MODEL
        self._api_key = api_key
        self._base_url = base_url.rstrip("/")
        self._gate = Gate(PROVIDER, "Jev", "JEV_API_KEY", timeout, secret=api_key)
        self._client: AsyncClient | None = None

    async def classify_complexity(self, text: str) -> Reply[Complexity]:
        """How many entities the text will yield, as predicted from its first 32 KiB."""
        await self.warm()
        reply, latency_ms = await self._gate.call(lambda: self._send(first_bytes(text)), _refusal, model=MODEL)
        (inference,) = reply.inferences
        return replace(reply, inferences=(replace(inference, latency_ms=latency_ms),))

    async def warm(self) -> None:
        """Imports what the first call needs."""
        await imported("httpx2")

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _send(self, text: str) -> Reply[Complexity]:
        from httpx2 import AsyncClient

        if self._client is None:
            self._client = AsyncClient(timeout=None)  # the gate has the deadline
        response = await self._client.post(
            f"{self._base_url}/v1/systemone",
            headers={"Authorization": f"Bearer {self._api_key}"},
            json={"model": MODEL, "state": text, "questions": {"complexity": QUESTION}},
        )
        response.raise_for_status()
        with reading():
            return _reply(response.json(), response.headers.get("x-typesafe-request-id", ""))


def first_bytes(text: str) -> str:
    """The first 32 KiB of the text in UTF-8, without half a character at the end."""
    return text.encode("utf-8", "replace")[:MAX_BYTES].decode("utf-8", "ignore")


def _reply(body: Any, request_id: str) -> Reply[Complexity]:
    said, usage = body["answers"]["complexity"], body["usage"]
    if said["choice"] not in QUESTION["criteria"]:
        raise Unusable(f"chose none of {', '.join(QUESTION['criteria'])}")
    probabilities = {name: float(value) for name, value in said["probabilities"].items()}
    complexity = Complexity(said["choice"], float(said["confidence"]), probabilities)
    tokens = Usage(input=int(usage["input_tokens"]), output=int(usage["output_tokens"]))
    return Reply(complexity, (Inference(PROVIDER, str(body["model"]), MODEL, tokens, request_id=request_id),))


def _refusal(error: Exception) -> Refusal | None:
    from httpx2 import HTTPStatusError, TransportError

    if isinstance(error, HTTPStatusError):
        response = error.response
        return Refusal(
            response.status_code, response.reason_phrase, request_id=response.headers.get("x-typesafe-request-id", "")
        )
    return Refusal(0, "can't be reached") if isinstance(error, TransportError) else None
