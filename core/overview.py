"""Values that describe a process: its parts, and the datasets it keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DatasetStatus:
    """One dataset and how much it holds."""

    user_id: str
    name: str
    artifacts: int
    entities: int
    facts: int
    commits: int
    embedding: str


@dataclass(frozen=True, slots=True)
class Part:
    """One part of the product: whether it is on, and what it is or why it is off."""

    name: str
    on: bool
    detail: str
