"""What the doctor found: values only. The looking and mending are in storage/doctor.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

SHOWN = 10
"""How many ids a finding names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be. `remedy` says who mends it: `--repair`, or the reader and how."""

    kind: str
    text: str
    count: int
    dataset: str = ""
    """`user / dataset`, where it is in one."""
    ids: tuple[int, ...] = ()
    """The first rows that it is about."""
    remedy: str = "--repair"


@dataclass(frozen=True, slots=True)
class Report:
    """The state of one memory. `repaired` says in words what was mended before it was looked at (again)."""

    findings: tuple[Finding, ...]
    counts: Mapping[str, int]
    repaired: tuple[str, ...] = ()

    @property
    def healthy(self) -> bool:
        return not self.findings

    def body(self) -> dict[str, Any]:
        """The report for programs."""
        return {"healthy": self.healthy, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What reindex did with one dataset: texts embedded now, and those that an interrupted try had embedded already."""

    user_id: str
    dataset: str
    model: str
    dimensions: int
    generation: int
    embedded: int
    kept: int
    waiting: int = 0
    """Vectors of what was written meanwhile, that are not in the index yet."""


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """What a backup file holds, as its manifest.json says."""

    format: str
    format_version: int
    schema_version: int
    program: str
    created_at: str
    counts: Mapping[str, int]
    vectors: Mapping[str, int] = field(default_factory=dict[str, int])
    """The rows of each vector table in the file, by its name."""
