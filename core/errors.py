"""One class per kind of failure, each with a stable code. The doors give them numbers (gligabao_mcp/errors.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.inferences import Inference


class GligabaoError(Exception):
    """A failure with a name: `code` is stable, the message is written for the person who reads it."""

    code = "internal"

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param


class InvalidRequest(GligabaoError):
    """The request breaks a rule of its own; `param` names the field."""

    code = "invalid_request"


class TooLarge(GligabaoError):
    """The request body is over the limit of its route."""

    code = "too_large"


class UnknownDataset(GligabaoError):
    """The user has no dataset of that name."""

    code = "not_found"


class Conflict(GligabaoError):
    """Other writers changed the same facts again and again meanwhile; nothing was stored."""

    code = "conflict"


class Stale(GligabaoError):
    """Facts on the same endpoints appeared since the change was decided; nothing was stored. Decide again."""


class NotConfigured(GligabaoError):
    """The operation needs a provider that this process was not given."""

    code = "not_configured"


class StorageBusy(GligabaoError):
    """Another process held the database longer than we wait; nothing was stored, the same call may be sent again."""

    code = "storage_busy"

    retry_after = 5


class ModelFailed(GligabaoError):
    """A model call gave nothing usable. `inferences` are what it cost all the same."""

    code = "model_failed"

    def __init__(self, message: str, *, inferences: Sequence[Inference] = ()) -> None:
        super().__init__(message)
        self.inferences = tuple(inferences)


class ModelOverloaded(ModelFailed):
    """The provider is overloaded or out of reach for now; the same call may succeed later."""

    code = "upstream_overloaded"


class IndexUnavailable(GligabaoError):
    """The vector index could not be read or written; vectors to be written wait in the outbox."""


class VectorsPending(GligabaoError):
    """The facts are stored, but writing their vectors to the index failed. They are written again by themselves."""

    code = "vectors_pending"

    def __init__(self, message: str, *, saved: dict[str, object]) -> None:
        super().__init__(message)
        self.saved = saved


class NewerDatabase(GligabaoError):
    """The database was written by a newer release than this one can read."""

    code = "newer_database"
