"""The rule that finds the conversation of a call, as a table: the first signal that says something wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from core.text import utf8_length
from gligabao_mcp.conversation import Launch, Rules, Signals, resolve_session, resolve_user

EVERYTHING = Signals(
    argument="chat-42",
    headers={"gligabao-session-id": "from-header", "mcp-session-id": "m1", "gligabao-user-id": "u-header"},
    meta={
        "vscode.conversationId": "v1",
        "openai/session": "o1",
        "claudecode/sessionId": "cc1",
        "threadId": "t1",
        "x-codex-turn-metadata": {"session_id": "x1"},
        "sessionId": "s1",
        "my.chat": "k1",
    },
    client="codex-mcp-client",
    launch=Launch(process_id="p1", claude_code="env1"),
)
RULES = Rules(session_id="from-setting", meta_keys=("my.chat",))
NOTHING = Signals()


def without(signals: Signals, *meta: str) -> Signals:
    return replace(signals, meta={key: value for key, value in signals.meta.items() if key not in meta})


def test_each_signal_wins_over_all_that_follow() -> None:
    signals, rules, seen = EVERYTHING, RULES, list[tuple[str | None, str]]()

    def see() -> None:
        found = resolve_session(signals, rules, mint=False)
        seen.append((found.session_id, found.source))

    see()
    signals = replace(signals, argument="")
    see()
    signals = replace(signals, headers={"mcp-session-id": "m1"})
    for key in list(EVERYTHING.meta):
        see()
        signals = without(signals, key)
    see()
    signals = replace(signals, headers={})
    see()
    rules = replace(rules, session_id="")
    see()
    signals = replace(signals, launch=Launch(process_id="p1"))
    see()
    signals = replace(signals, launch=None)
    see()
    assert seen == [
        ("chat-42", "argument"),
        ("from-header", "header"),
        ("vscode:v1", "meta"),
        ("chatgpt:o1", "meta"),
        ("claude-code:cc1", "meta"),
        ("codex:t1", "meta"),
        ("codex:x1", "meta"),
        ("codex:s1", "meta"),
        ("meta:k1", "meta"),
        ("mcp:m1", "connection"),
        ("from-setting", "environment"),
        ("claude-code:env1", "environment"),
        ("stdio:p1", "process"),
        (None, "none"),
    ]


@pytest.mark.parametrize("key", ["threadId", "sessionId", "x-codex-turn-metadata"])
def test_a_generic_name_is_believed_from_its_owner_alone(key: str) -> None:
    meta = {key: {"session_id": "x"} if key.startswith("x-") else "x"}
    for client, source in (("codex", "meta"), ("Codex CLI", "meta"), ("visual studio code", "none"), ("", "none")):
        found = resolve_session(Signals(meta=meta, client=client), Rules(), mint=False)
        assert found.source == source


@pytest.mark.parametrize(
    "meta",
    [
        {"vscode.conversationId": ""},
        {"vscode.conversationId": 5},
        {"x-codex-turn-metadata": "no JSON"},
        {"x-codex-turn-metadata": "[]"},
        {"threadId": None},
        {"progressToken": 1, "claudecode/toolUseId": "u", "traceparent": "00-a-b-01"},
    ],
)
def test_what_is_no_id_says_nothing(meta: Mapping[str, Any]) -> None:
    assert resolve_session(Signals(meta=meta, client="codex"), Rules(), mint=False).source == "none"


def test_codex_may_send_its_turn_as_text() -> None:
    meta = {"x-codex-turn-metadata": '{"session_id": "x1"}'}
    assert resolve_session(Signals(meta=meta, client="codex"), Rules(), mint=False).session_id == "codex:x1"


def test_a_minted_id_is_new_each_time_and_fits() -> None:
    minted = {resolve_session(NOTHING, Rules(), mint=True).session_id or "" for _ in range(50)}
    assert len(minted) == 50
    assert all(len(one) == len("gbs_") + 32 for one in minted)


def test_a_setting_never_names_the_conversation_of_an_http_call() -> None:
    assert resolve_session(NOTHING, RULES, mint=False).source == "none", "one server has many callers"


def test_weak_signals_can_be_switched_off() -> None:
    rules = Rules(fallback="none")
    signals = Signals(headers={"mcp-session-id": "m1"}, launch=Launch(process_id="p1"))
    assert resolve_session(signals, rules, mint=False).source == "none"
    assert resolve_session(replace(signals, launch=Launch("p1", "env1")), rules, mint=False).source == "environment"


@pytest.mark.parametrize("value", ["x" * 200, "a\nb", "Đ" * 64, "\ud83d" * 100])
def test_an_id_that_nobody_chose_is_hashed_when_it_does_not_fit(value: str) -> None:
    found = resolve_session(Signals(meta={"openai/session": value}), Rules(), mint=False).session_id
    assert found is not None
    assert found.startswith("chatgpt:")
    assert utf8_length(found) == len("chatgpt:") + 32
    assert found == resolve_session(Signals(meta={"openai/session": value}), Rules(), mint=False).session_id


def test_a_chosen_id_is_taken_as_it_is() -> None:
    assert resolve_session(Signals(argument="x" * 200), Rules(), mint=False).session_id == "x" * 200
    header = {"gligabao-session-id": "Huế".encode().decode("latin-1")}
    assert resolve_session(Signals(headers=header), Rules(), mint=False).session_id == "Huế"


def test_the_user_is_the_tokens_the_argument_the_header_or_the_setting() -> None:
    assert resolve_user("", replace(EVERYTHING, token_user="u-token"), RULES) == "u-token"
    assert resolve_user("u1", EVERYTHING, RULES) == "u1"
    assert resolve_user("", EVERYTHING, RULES) == "u-header"
    assert resolve_user("", NOTHING, replace(RULES, user_id="me")) == "me"
    assert resolve_user("", NOTHING, Rules()) == "local"
