"""Which conversation an MCP call belongs to, and whose memory it means: the protocol itself does not say."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from core.requests import MAX_NAME, SessionSource
from core.text import has_control, utf8_length

SESSION_HEADER = "gligabao-session-id"
USER_HEADER = "gligabao-user-id"
CONNECTION_HEADER = "mcp-session-id"

# Keys that only their owner uses, so they are believed from anybody.
_OWN_KEYS = (
    ("vscode.conversationId", "vscode"),
    ("openai/session", "chatgpt"),
    ("claudecode/sessionId", "claude-code"),
)


@dataclass(frozen=True, slots=True)
class Launch:
    """What a stdio process knew when it started: nothing of it changes while it runs."""

    process_id: str = ""
    claude_code: str = ""


@dataclass(frozen=True, slots=True)
class Signals:
    """All that one call lets us know, from the most to the least explicit."""

    argument: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])
    client: str = ""
    token_user: str = ""
    """Whose token came with the call; empty where none is asked for."""
    launch: Launch | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """The settings that take part."""

    user_id: str = "local"
    session_id: str = ""
    fallback: Literal["auto", "none"] = "auto"
    meta_keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """The session of a call and where it was read; a label, never an authorization."""

    session_id: str | None
    source: SessionSource | Literal["none"]


def resolve_session(signals: Signals, rules: Rules, *, mint: bool) -> Conversation:
    """The first signal that says something. With none, `mint` makes an id that the caller is told to send on.

    A chosen id (argument, header, setting) is taken as it is, so that REST and MCP join on one string.
    """
    if signals.argument:
        return Conversation(signals.argument, "argument")
    if header := header_text(signals.headers, SESSION_HEADER):
        return Conversation(header, "header")
    if known := _from_meta(signals, rules):
        return Conversation(known, "meta")
    weak = rules.fallback == "auto"
    if weak and (connection := header_text(signals.headers, CONNECTION_HEADER)):
        return Conversation(_implicit("mcp", connection), "connection")
    if signals.launch is not None:
        if rules.session_id:
            return Conversation(rules.session_id, "environment")
        if signals.launch.claude_code:
            return Conversation(_implicit("claude-code", signals.launch.claude_code), "environment")
        if weak and signals.launch.process_id:
            return Conversation(_implicit("stdio", signals.launch.process_id), "process")
    if mint:
        return Conversation(f"gbs_{secrets.token_hex(16)}", "minted")
    return Conversation(None, "none")


def resolve_user(argument: str, signals: Signals, rules: Rules) -> str:
    """Whose memory a call means: the user of the token, else the argument, else the header, else the setting.

    What names another user than the token is refused where it is read (gligabao_mcp.callers).
    """
    return signals.token_user or argument or header_text(signals.headers, USER_HEADER) or rules.user_id


def header_text(headers: Mapping[str, str], name: str) -> str:
    """A header as it was meant; empty where it is not there."""
    value = headers.get(name, "")
    try:
        # Servers hand headers over as latin-1; people write UTF-8.
        return value.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return value


def _from_meta(signals: Signals, rules: Rules) -> str:
    meta = signals.meta
    for key, client in _OWN_KEYS:
        if value := _text(meta.get(key)):
            return _implicit(client, value)
    if "codex" in signals.client.lower():
        # Generic names: any client may mean something else by them.
        turn = _object(meta.get("x-codex-turn-metadata"))
        value = _text(meta.get("threadId")) or _text(turn.get("session_id")) or _text(meta.get("sessionId"))
        if value:
            return _implicit("codex", value)
    for key in rules.meta_keys:
        if value := _text(meta.get(key)):
            return _implicit("meta", value)
    return ""


def _implicit(prefix: str, value: str) -> str:
    """An id that nobody chose: what does not fit into a session id is hashed, never refused."""
    whole = f"{prefix}:{value}"
    if utf8_length(whole) <= MAX_NAME and not has_control(whole):
        return whole
    return f"{prefix}:{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _object(value: object) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
