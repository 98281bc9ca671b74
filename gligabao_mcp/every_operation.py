"""The whole table of operations: those on a memory, and those on its graphs.

It stands apart from both because a server over stdio starts, and answers, with the first part alone.
"""

from __future__ import annotations

from typing import Any

from gligabao_mcp.graph_operations import GRAPH_OPERATIONS
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import OPERATIONS

EVERY: tuple[Operation[Any, Any], ...] = (*OPERATIONS, *GRAPH_OPERATIONS)
