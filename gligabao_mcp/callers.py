"""Who calls: the user and the scopes of a request's token, and what that lets a request ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from pydantic import BaseModel
from starlette.requests import HTTPConnection

from core.access import AccessScope, Token
from core.errors import Forbidden
from core.requests import Request, Response
from gligabao_mcp.operation import Operation
from gligabao_mcp.operations import Parsed, parse

Req = TypeVar("Req", bound=Request)
Res = TypeVar("Res", bound=Response)


class TokenUser(AuthenticatedUser):
    """The holder of a token, as the SDK keeps whom a transport session belongs to."""

    def __init__(self, token: Token) -> None:
        # Without the token itself: nobody behind the check needs it.
        super().__init__(
            AccessToken(token="", client_id=f"token {token.id}", scopes=sorted(token.scopes), subject=token.user_id)
        )
        self.caller = Caller(token.user_id, token.scopes)


@dataclass(frozen=True, slots=True)
class Caller:
    """The user of a token, and what the token is good for. Every check raises Forbidden, and echoes nothing."""

    user_id: str
    scopes: frozenset[AccessScope]

    def needs(self, scope: AccessScope) -> None:
        """Refuses a token without the scope."""
        if scope not in self.scopes:
            raise Forbidden(f"the token has no scope {scope}", scope=scope)

    def signed(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a request, with this user where they name none."""
        stated = {name: value for name, value in fields.items() if name != "user_id" or value not in ("", None)}
        return {"user_id": self.user_id, **stated}

    def owns(self, request: BaseModel) -> None:
        """Refuses a request that names another user."""
        self.is_user(str(getattr(request, "user_id", self.user_id)))

    def is_user(self, user_id: str) -> None:
        """Refuses any user but this one."""
        if user_id != self.user_id:
            raise Forbidden("user_id: is not the user of the token", param="user_id")


def caller_of(connection: object) -> Caller | None:
    """Who sent a request over HTTP; None where no tokens are asked for, and for what did not come over HTTP."""
    user = connection.scope.get("user") if isinstance(connection, HTTPConnection) else None
    return user.caller if isinstance(user, TokenUser) else None


def scope_of(operation: Operation[Any, Any]) -> AccessScope:
    """The scope that an operation needs."""
    if operation.admin:
        return "admin"
    return "read" if operation.reads_only else "write"


def parse_for(
    caller: Caller | None, operation: Operation[Req, Res], payload: object, *, named: Sequence[str] = ()
) -> Parsed[Req]:
    """The request in a JSON value (operations.parse), if this caller may send it: the user comes from the token.

    Raises InvalidRequest, and Forbidden where the token lacks the scope or the request names another user.
    """
    if caller is None:
        return parse(operation, payload, named=named)
    caller.needs(scope_of(operation))
    if operation.admin:  # it tells of every user, and takes a user for a filter
        return parse(operation, payload, named=named)
    if isinstance(payload, Mapping):
        payload = caller.signed(cast("Mapping[str, Any]", payload))
    parsed = parse(operation, payload, named=named)
    caller.owns(parsed.request)  # once it is read: what is cleaned in reading may change a name
    return parsed
