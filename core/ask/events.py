"""Event: something that a question comes to on its way to the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Event:
    """grounding, route, step, answer or done, and its JSON object."""

    name: str
    data: dict[str, Any]
