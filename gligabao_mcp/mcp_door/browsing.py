"""What is stored, as the user of a request may see it: the one way in for resources and completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from core.core import Core
from core.datasets import find_dataset
from core.graph import Dataset
from gligabao_mcp.callers import caller_of, parse_for
from gligabao_mcp.conversation import Launch, Rules, resolve_user
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.mcp_door.signals import Context, signals_of
from gligabao_mcp.operations import OPERATIONS

_OPERATIONS = {operation.name: operation for operation in OPERATIONS}


@dataclass(frozen=True, slots=True)
class Browsing:
    """Reads of one core, each for the user that a tool called by the same client would mean."""

    handle: CoreHandle
    rules: Rules
    launch: Launch | None

    async def show(self, context: Context, operation: str, **fields: Any) -> dict[str, Any]:
        """The response body of an operation that reads. Raises what the operation raises, and Forbidden."""
        row = _OPERATIONS[operation]
        parsed = parse_for(caller_of(context.request), row, {"user_id": self._user(context), **fields})
        return await self.handle.run(row, parsed)

    async def dataset(self, context: Context, name: str | None) -> tuple[Core, Dataset | None]:
        """The core, and the user's dataset of that name as core.datasets finds it: for what no operation shows."""
        core, user = await self._core(context)
        return core, await find_dataset(core, user, name)

    async def dataset_names(self, context: Context) -> list[str]:
        """The user's datasets, by name."""
        core, user = await self._core(context)
        return await core.graph.dataset_names(user)

    async def _core(self, context: Context) -> tuple[Core, str]:
        if caller := caller_of(context.request):
            caller.needs("read")
        return await self.handle.core(), self._user(context)

    def _user(self, context: Context) -> str:
        return resolve_user("", signals_of(context, self.launch), self.rules)
