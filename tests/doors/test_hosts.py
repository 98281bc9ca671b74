"""Names and web pages: what a server answers to, and what it tells those whom it refuses."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.config import Config
from core.errors import InvalidRequest
from gligabao_mcp.handle import CoreHandle
from gligabao_mcp.hosts import CORS_HEADERS, MAX_LOGGED, Admission
from tests.doors.conftest import http_client

PUBLIC = {"host": "0.0.0.0", "insecure": True}


def admits(name: str, settings: Mapping[str, Any]) -> bool:
    return Admission(Config(**settings)).of_host(name)


def lets_in(page: str, settings: Mapping[str, Any]) -> bool:
    return Admission(Config(**settings)).of_origin(page, "127.0.0.1:7878")


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/healthz", "/v1/gb/datasets?user_id=u1", "/openapi.json", "/metrics"])
async def test_a_name_behind_a_proxy_is_let_in_by_its_setting(
    handle: CoreHandle, settings: Config, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    """C101: 421 behind a proxy."""
    named = {"host": "memory.example.test"}
    async with http_client(handle, settings) as rest:
        refused = await rest.get(path, headers=named)
        again = await rest.get(path, headers=named)
        assert (refused.status_code, refused.json()["code"]) == (421, "host_refused")
        assert "setting allowed_hosts" in refused.json()["error"]
        assert "memory.example.test" not in refused.text and again.content == refused.content
    (logged,) = [r.getMessage() for r in caplog.records if r.name == "gligabao_mcp.hosts"]
    assert "setting allowed_hosts" in logged and "'memory.example.test'" in logged
    settings = settings.model_copy(update={"allowed_hosts": ("memory.example.test",), "metrics": "on"})
    async with http_client(CoreHandle(handle._open_core), settings) as rest:  # pyright: ignore[reportPrivateUsage]
        assert (await rest.get(path, headers=named)).status_code == 200
        assert (await rest.get(path, headers={"host": "other.example.test"})).status_code == 421, "it stays on"
        assert (await rest.get(path)).status_code == 200


@pytest.mark.anyio
async def test_nothing_is_redirected(handle: CoreHandle, settings: Config) -> None:
    """C101: a redirect to http would lose the body, or show the token to the network."""
    async with http_client(handle, settings) as rest:
        for path in ("/v1/gb/mcp/", "/v1/gb/query/", "/healthz/", "/v1/gb/datasets/"):
            for method in ("GET", "POST"):
                assert not (await rest.request(method, path, content=b"{}")).is_redirect


@pytest.mark.parametrize(
    ("settings", "taken", "refused"),
    [
        (
            {},
            ("localhost", "localhost:1", "127.0.0.1", "127.1.2.3:7", "[::1]", "[::1]:7878"),
            ("192.168.1.5", "::1", "127.0.0.1.example"),
        ),
        ({"host": "::1"}, ("[::1]:7878", "localhost"), ("[::2]",)),
        (PUBLIC, ("192.168.1.5:7878", "[fe80::1]:80", "localhost"), ("memory.example.com", "0x7f.1.example")),
        ({**PUBLIC, "host": "*"}, ("10.0.0.2:1", "localhost"), ("any.example.com", "evil.example:7878")),
        ({**PUBLIC, "host": "nas.lan"}, ("nas.lan", "nas.lan:7878", "10.0.0.2"), ("other.lan", "anas.lan", "nas.lan.")),
        (
            {"allowed_hosts": ("Memory.example.com",)},
            ("memory.example.com", "memory.example.com:8443"),
            ("example.com",),
        ),
        ({"allowed_hosts": ("m.example.com:8443",)}, ("m.example.com:8443",), ("m.example.com", "m.example.com:1")),
        (
            {"allowed_hosts": ("*.example.com",)},
            ("a.example.com", "a.b.example.com:1"),
            ("example.com", "aexample.com", "a.example.com.evil", "a-example.com", ".example.com"),
        ),
        ({"allowed_hosts": ("*.example.com:443",)}, ("a.example.com:443",), ("a.example.com", "a.example.com:4430")),
        ({"allowed_hosts": ("[fd00::5]",)}, ("[fd00::5]:1",), ("[fd00::6]",)),
        ({"allowed_hosts": ("*",)}, ("anything.at.all", "10.0.0.1:5"), ("", "a b", "a/b")),
    ],
)
def test_names_are_taken_as_the_settings_say(
    settings: Mapping[str, Any], taken: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    assert [host for host in taken if not admits(host, settings)] == []
    odd = ("user@localhost", "localhost:", "localhost:x", "localhost/", "local host", "")
    assert [host for host in (*refused, *odd) if admits(host, settings)] == []


@pytest.mark.parametrize(
    ("settings", "taken", "refused"),
    [
        ({}, ("http://localhost:5173", "https://127.0.0.1", "http://[::1]:1"), ("https://example.com", "null")),
        ({}, (), ("http://localhost.example", "file://localhost", "http://localhost:5173/path", "localhost", "")),
        (PUBLIC, ("http://localhost:5173",), ("http://192.168.1.5", "https://example.com")),
        (
            {"allowed_origins": ("https://app.example.com",)},
            ("https://app.example.com",),
            (
                "http://app.example.com",
                "https://app.example.com:8443",
                "https://app.example.com.evil",
                "https://example.com",
            ),
        ),
        (
            {"allowed_origins": ("https://app.example.com:*",)},
            ("https://app.example.com:8443",),
            ("https://b.example.com",),
        ),
        ({"allowed_origins": ("https://*.example.com",)}, ("https://a.example.com",), ("https://example.com",)),
        ({"allowed_origins": ("app.example.com",)}, ("http://app.example.com", "https://app.example.com"), ("null",)),
        ({"allowed_origins": ("vscode-webview://*",)}, ("vscode-webview://abc123",), ("https://abc123",)),
        ({"allowed_origins": ("null",)}, (), ("https://null.example",)),
        ({"cors_origins": ("https://app.example.com",)}, ("https://app.example.com",), ("https://b.example.com",)),
        ({"allowed_origins": ("*",)}, ("https://any.example", "null"), ()),
    ],
)
def test_pages_are_let_in_as_the_settings_say(
    settings: Mapping[str, Any], taken: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    assert [origin for origin in taken if not lets_in(origin, settings)] == []
    assert [origin for origin in refused if lets_in(origin, settings)] == []


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["Host", "Origin"])
async def test_of_a_header_that_comes_twice_each_has_to_be_let_in(
    handle: CoreHandle, settings: Config, name: str
) -> None:
    """A server behind or before this one may go by the other."""
    here, there = ("127.0.0.1", "evil.example") if name == "Host" else ("http://localhost", "https://evil.example")
    async with http_client(handle, settings) as rest:
        for values in ((here, there), (there, here)):
            answer = await rest.get("/healthz", headers=[(name, value) for value in values])
            assert answer.json()["code"] == f"{name.lower()}_refused"


def test_a_page_of_the_server_itself_is_let_in() -> None:
    admission = Admission(Config(allowed_hosts=("memory.example.com",)))
    assert admission.of_origin("https://memory.example.com", "memory.example.com")
    assert not admission.of_origin("https://memory.example.com", "127.0.0.1:7878")


@given(st.text(max_size=40))
def test_no_name_that_a_stranger_makes_up_is_ours(name: str) -> None:
    assert not admits(f"{name}.evil.example".lower(), {"allowed_hosts": ("*.example.com", "memory.example.test")})


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("allowed_hosts", "https://memory.example.com"),
        ("allowed_hosts", "memory.example.com/path"),
        ("allowed_hosts", "mem*.example.com"),
        ("allowed_hosts", ""),
        ("allowed_origins", "https://app.example.com/path"),
        ("cors_origins", "app example"),
    ],
)
def test_a_setting_that_can_not_be_read_is_named(setting: str, value: str) -> None:
    with pytest.raises(InvalidRequest, match=rf"^{setting}: must be ") as refusal:
        Admission(Config.model_validate({setting: (value,)}))
    assert refusal.value.param == setting


@pytest.mark.anyio
async def test_strangers_fill_no_log(handle: CoreHandle, settings: Config, caplog: pytest.LogCaptureFixture) -> None:
    async with http_client(handle, settings) as rest:
        for n in range(MAX_LOGGED + 20):
            await rest.get("/healthz", headers={"host": f"h{n}.example", "origin": "http://x\x1b[31m"})
        await rest.get("/healthz", headers={"host": "x" * 5000})
    logged = [record for record in caplog.records if record.name == "gligabao_mcp.hosts"]
    assert len(logged) == MAX_LOGGED
    assert all(record.levelno == logging.WARNING and record.getMessage().isprintable() for record in logged)


# Pages that read answers ----------------------------------------------------------------------------------------------

PAGE = {"origin": "https://app.example.com"}
PREFLIGHT = {**PAGE, "access-control-request-method": "POST"}


@pytest.mark.anyio
async def test_no_page_reads_answers_by_default(handle: CoreHandle, settings: Config) -> None:
    local = {"origin": "http://localhost:5173", "access-control-request-method": "POST"}
    for update in ({}, {"allowed_origins": ("https://app.example.com",)}):
        async with http_client(CoreHandle(handle._open_core), settings.model_copy(update=update)) as rest:  # pyright: ignore[reportPrivateUsage]
            for method, headers in (("GET", PAGE), ("OPTIONS", PREFLIGHT), ("GET", local), ("OPTIONS", local)):
                answer = await rest.request(method, "/v1/gb/datasets?user_id=u1", headers=headers)
                assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.anyio
async def test_a_page_that_is_named_reads_answers_and_asks_before_without_a_token(
    handle: CoreHandle, settings: Config
) -> None:
    settings = settings.model_copy(update={"cors_origins": ("https://*.example.com",), "tokens": "on"})
    asked = {
        "access-control-request-headers": ", ".join(CORS_HEADERS),
        "access-control-request-private-network": "true",
    }
    async with http_client(handle, settings) as rest:
        for path in ("/v1/gb/query", "/v1/gb/mcp"):
            before = await rest.options(path, headers={**PREFLIGHT, **asked})
            assert (before.status_code, before.headers["access-control-allow-origin"]) == (200, PAGE["origin"])
            allowed = before.headers["access-control-allow-headers"].lower()
            assert all(name.lower() in allowed for name in CORS_HEADERS)
            assert before.headers["access-control-allow-private-network"] == "true"
            refused = await rest.post(path, headers=PAGE)
            assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, PAGE["origin"])
            assert "Mcp-Session-Id" in refused.headers["access-control-expose-headers"]
            assert "access-control-allow-credentials" not in refused.headers
        other = await rest.options("/v1/gb/query", headers={**PREFLIGHT, "origin": "https://evil.example"})
        assert (other.status_code, other.json()["code"]) == (403, "origin_refused")
