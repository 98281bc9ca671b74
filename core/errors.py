"""One class per kind of failure, each with a stable code. The doors give them numbers (gligabao_mcp/errors.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from core.inferences import Inference


# What an event calls a call whose caller went away; nobody ever gets it as a failure.
CANCELLED = "cancelled"


class GligabaoError(Exception):
    """A failure with a name: `code` is stable, the message is written for the person who reads it."""

    code = "internal"
    retry_after: int | None = None
    """Seconds after which the same call may succeed, where that is known."""

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.saved: Mapping[str, object] = {}
        """What was stored in spite of it, as the response would have told it."""

    def __str__(self) -> str:
        return self.message


class InvalidRequest(GligabaoError):
    """The request breaks a rule of its own; `param` names the field."""

    code = "invalid_request"


class TooLarge(GligabaoError):
    """The request body is over the limit of its route."""

    code = "too_large"


class Unauthorized(GligabaoError):
    """The request shows no token that holds, and one is asked for."""

    code = "unauthorized"


class Forbidden(GligabaoError):
    """The token does not allow it. `scope` is the one it lacks; empty where it is another user's."""

    code = "forbidden"

    def __init__(self, message: str, *, scope: str = "", param: str | None = None) -> None:
        super().__init__(message, param=param)
        self.scope = scope


class RateLimited(GligabaoError):
    """The caller has sent too many requests; those to come are answered again after `retry_after` seconds."""

    code = "rate_limited"

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class UnknownDataset(GligabaoError):
    """The user has no dataset of that name."""

    code = "not_found"


class NotFound(GligabaoError):
    """The user has no such row; one of another user is none either."""

    code = "not_found"


class ConfirmationRequired(GligabaoError):
    """So much would go that the caller has to say so again: `saved` holds the counts and the word to say it with."""

    code = "confirmation_required"

    def __init__(self, message: str, *, saved: Mapping[str, object]) -> None:
        super().__init__(message)
        self.saved = saved


class UnknownDatabase(GligabaoError):
    """No database of that name is open."""

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


class StorageGone(GligabaoError):
    """The database file was deleted, moved or replaced while it was in use; nothing was read or stored."""

    code = "storage_gone"


class QueueFull(GligabaoError):
    """Too many calls wait for their turn; nothing was stored, the same call may be sent again."""

    code = "queue_full"

    retry_after = 5


class ShuttingDown(GligabaoError):
    """The server takes no calls any more, or ended before it could go through with this one. `goes_on`: another
    process, or the next start, goes through with it."""

    code = "shutting_down"

    retry_after = 5

    goes_on = False


class TakenOver(GligabaoError):
    """Another process took this one for dead and took its run over, or ended it. What was not stored yet is not."""

    code = "conflict"


class ModelFailed(GligabaoError):
    """A model call gave nothing usable. `inferences` are what it cost all the same."""

    code = "model_failed"

    def __init__(self, message: str, *, inferences: Sequence[Inference] = ()) -> None:
        super().__init__(message)
        self.inferences = tuple(inferences)


class ModelOverloaded(ModelFailed):
    """The provider is overloaded or out of reach for now; the same call may succeed later."""

    code = "upstream_overloaded"


class DailyLimit(GligabaoError):
    """The day's money is spent: no paid model call is made until midnight UTC."""

    code = "daily_limit"

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class QuestionLimit(GligabaoError):
    """The questions of this UTC day are asked."""

    code = "rewrite_limit"


class ModelUnavailable(GligabaoError):
    """No model answers questions: none is set, or it failed twice before any answer."""

    code = "rewrite_model_unavailable"


class InvalidProfile(GligabaoError):
    """A profile is outside its limits, or an example of it is no query; `param` is notes or examples."""

    code = "invalid_rewrite_profile"


class NotYetVisible(GligabaoError):
    """What is asked for has not come to where it is read from; the same call may succeed soon."""

    code = "read_your_writes_pending"

    retry_after = 1


class NoEmbedding(GligabaoError):
    """A query searches by meaning, and no class of the graph can be searched so."""

    code = "no_embedding"


class QueryTimeout(GligabaoError):
    """A query ran to its deadline and was stopped."""

    code = "query_timeout"


class QueryTooLarge(GligabaoError):
    """A query needs more memory than one may have, and was stopped."""

    code = "query_too_large"


class QueriesUnavailable(GligabaoError):
    """The process that answers queries could not be started."""

    code = "queries_unavailable"


class IdempotencyConflict(GligabaoError):
    """The idempotency key was used for another request."""

    code = "idempotency_conflict"


class IndexUnavailable(GligabaoError):
    """The vector index could not be read or written; vectors to be written wait in the outbox."""


class VectorsPending(GligabaoError):
    """The facts are stored, but writing their vectors to the index failed. They are written again by themselves."""

    code = "vectors_pending"

    def __init__(self, message: str, *, saved: Mapping[str, object]) -> None:
        super().__init__(message)
        self.saved = saved


class NewerDatabase(GligabaoError):
    """The database was written by a newer release than this one can read."""

    code = "newer_database"
