"""The operations on a dataset's graph: asking in plain words, SPARQL, and the tools for other agents. Rows of the one
table of operations."""

from __future__ import annotations

from typing import Any

from gligabao_mcp.operation import Operation

GRAPH_OPERATIONS: tuple[Operation[Any, Any], ...] = ()
