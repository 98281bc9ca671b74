"""Operation: one thing the product does, as every door reads it."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from core.core import Core
from core.requests import KIB, Request, Response

if TYPE_CHECKING:
    from core.ask.events import Event

Req = TypeVar("Req", bound=Request)
Res = TypeVar("Res", bound=Response)


@dataclass(frozen=True, slots=True)
class Tool:
    """An operation as a tool of the MCP server."""

    description: str
    """For a model that chooses among tools: first the words that a user would use, then when to call this one, what
    not to call it for, and what to make of the result."""
    fields: tuple[str, ...]
    """The fields that are worth their tokens in every chat. A tool takes the others too, it only does not list them:
    not the user_id, because models fill in what they are offered, and a memory must not fall apart by that."""
    results: tuple[str, ...]
    """The fields of its answers that are worth theirs."""
    profile: Literal["default", "full"] = "default"
    """full: only where the setting `tools` asks for all of them."""
    choose: Callable[[Mapping[str, Any]], tuple[Operation[Any, Any], dict[str, Any]]] | None = None
    """Of a tool that stands for several operations: the one that these arguments mean, and the arguments for it. Raises
    InvalidRequest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Generic[Req, Res]):
    """One thing the product does. The request and response models and the handler's docstring are what doors show."""

    name: str  # written out: renaming the function must not rename a tool
    title: str
    command: str = ""
    """What the command line calls it, where that is not its name. One of a graph is a command where it has this."""
    handler: Callable[[Core, Req], Awaitable[Response]]
    request: type[Req]
    response: type[Res]
    others: tuple[type[Response], ...] = ()
    """What it answers to requests of another form."""
    accepted: type[Response] | None = None
    """The one of them that tells that the work goes on after the answer: 202 over HTTP."""
    path: str = ""
    """Its route; what stands in braces are fields of the request. Empty where it is a tool and nothing else."""
    method: Literal["POST", "GET", "PUT", "DELETE"] = "POST"
    """GET and DELETE: the fields that are not in the path come as the query string."""
    of_graph: bool = False
    """It belongs to the routes of a graph (/v1/query, /v1/graph, ...): the dataset is the parameter `graph`, further
    parameters are fields too, the user may be left out, and failures come as `{"error": {"code", "message", ...}}`."""
    refused_as: str = "invalid_request"
    """The code of a known field outside its limits."""
    removed: tuple[str, ...] = ()
    """Fields that it took once: refused with that code, too."""
    body_field: str = ""
    """The field that takes the body as it is, where that is no JSON; all others are parameters. It is a text, or a
    core.uploads.Document: a file of at most the setting max_import_bytes."""
    media_types: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]], hash=False)
    """The content types of such a body, each with the fields that it stands for where they are not given."""
    says_nothing: bool = False
    """Over HTTP the answer is an empty body."""
    events: Callable[[Core, Req], AsyncGenerator[Event]] | None = None
    """Its answer step by step, for clients that accept text/event-stream. The last event is `done`, with the response
    body. What it raises before the first is answered like any failure. It is closed when the client goes."""
    max_bytes: int = 64 * KIB
    reads_only: bool
    ends_with_caller: bool = False
    """It writes nothing but what it answers: who goes before that stops it, as a read."""
    destroys: bool = False
    admin: bool = False
    """It tells of every user: only where the setting `admin` opens it."""
    main_field: str = ""
    """The field that the command line takes without a flag."""
    main_is_text: bool = False
    """The main field is a text: on the command line words, a file or stdin."""
    instead: tuple[str, ...] = ()
    """Fields that may be given instead of the main one."""
    files: tuple[str, ...] = ()
    """Fields that hold bytes in base64: on the command line the name of a file."""
    tool: Tool | None = None
    """How a model sees it over MCP; None: not at all."""

    @property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return " ".join((self.handler.__doc__ or self.title).split("\n\n")[0].split())

    @property
    def observed(self) -> bool:
        """Whether each call of it is an event: where it changes something, and where a model has a part in it. Of any
        other those are that come through a tool."""
        return not self.reads_only or self.tool is not None or self.events is not None

    @property
    def path_fields(self) -> tuple[str, ...]:
        """The fields of the request that stand in its path."""
        return tuple(re.findall(r"{(\w+)}", self.path))

    def is_accepted(self, body: Mapping[str, Any]) -> bool:
        """Whether a response body tells that the work goes on after the answer."""
        fields = {} if self.accepted is None else self.accepted.model_fields
        return bool(fields) and all(name in body for name, field in fields.items() if field.is_required())
