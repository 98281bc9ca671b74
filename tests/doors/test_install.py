"""gligabao install: an entry for this server in the files of other programs, and nothing of theirs lost."""

from __future__ import annotations

import codecs
import errno
import json
import os
import re
import shlex
import stat
import sysconfig
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client as McpClient
from mcp import StdioServerParameters

from gligabao_mcp.cli import cli
from gligabao_mcp.install import command, files
from gligabao_mcp.install.change import installed, removed
from gligabao_mcp.install.clients import CLIENTS, Machine
from gligabao_mcp.install.entries import Http, Stdio, entry, launched
from gligabao_mcp.install.jsonc import Json
from gligabao_mcp.install.texts import Unreadable
from gligabao_mcp.install.toml import Toml
from tests.processes import ROOT, environment

ENTRY: dict[str, object] = {"command": "uvx", "args": ["gligabao-mcp", "stdio"], "env": {"GLIGABAO_LLM": "local"}}
PATH = ("mcpServers", "gligabao")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of a user, with a project in it as the working folder."""
    for name in ("APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["install", *arguments])


def written(home: Path, client: str) -> Path:
    return CLIENTS[client].file(Machine("linux", home, {}))


def server(home: Path, client: str) -> dict[str, Any]:
    """The entry in the client's file."""
    text = written(home, client).read_text("utf-8")
    document = tomllib.loads(text) if client == "codex" else json.loads(text)
    return document[CLIENTS[client].container]["gligabao"]


# Where and what -------------------------------------------------------------------------------------------------------

WINDOWS = {"APPDATA": "C:/Users/u/AppData/Roaming", "LOCALAPPDATA": "C:/Users/u/AppData/Local"}


@pytest.mark.parametrize(
    ("client", "linux", "mac", "windows"),
    [
        (
            "claude-desktop",
            "~/.config/Claude/claude_desktop_config.json",
            "~/Library/Application Support/Claude/claude_desktop_config.json",
            "C:/Users/u/AppData/Roaming/Claude/claude_desktop_config.json",
        ),
        ("claude-code", "~/.claude.json", "~/.claude.json", "~/.claude.json"),
        ("cursor", "~/.cursor/mcp.json", "~/.cursor/mcp.json", "~/.cursor/mcp.json"),
        (
            "vscode",
            "~/.config/Code/User/mcp.json",
            "~/Library/Application Support/Code/User/mcp.json",
            "C:/Users/u/AppData/Roaming/Code/User/mcp.json",
        ),
        ("codex", "~/.codex/config.toml", "~/.codex/config.toml", "~/.codex/config.toml"),
    ],
)
def test_every_client_keeps_its_file_where_its_platform_says(
    tmp_path: Path, client: str, linux: str, mac: str, windows: str
) -> None:
    for platform, environ, place in (("linux", {}, linux), ("darwin", {}, mac), ("win32", WINDOWS, windows)):
        assert CLIENTS[client].file(Machine(platform, tmp_path, environ)) == Path(place.replace("~", str(tmp_path)))


def test_variables_of_the_clients_move_their_files(tmp_path: Path) -> None:
    moved = Machine("linux", tmp_path, {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "XDG_CONFIG_HOME": "/g"})
    assert CLIENTS["claude-code"].file(moved) == Path("/c/.claude.json")
    assert CLIENTS["codex"].file(moved) == Path("/x/config.toml")
    assert CLIENTS["vscode"].file(moved) == Path("/g/Code/User/mcp.json")


def test_a_packaged_claude_desktop_has_a_folder_of_its_own_on_windows(tmp_path: Path) -> None:
    machine = Machine("win32", tmp_path, {})
    folder = tmp_path / "AppData/Local/Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming/Claude"
    plain = tmp_path / "AppData/Roaming/Claude/claude_desktop_config.json"
    assert CLIENTS["claude-desktop"].file(machine) == plain
    folder.mkdir(parents=True)
    assert CLIENTS["claude-desktop"].file(machine) == folder / "claude_desktop_config.json"


@pytest.mark.parametrize("client", list(CLIENTS))
def test_an_entry_is_written_once_and_taken_out_again(home: Path, client: str) -> None:
    file = written(home, client)
    first = run(client, "--llm", "local", "--home", "memory", "--command", "uvx")
    assert first.exit_code == 0, first.output
    content = file.read_bytes()
    assert server(home, client)["env"] == {"GLIGABAO_HOME": str(home / "project/memory"), "GLIGABAO_LLM": "local"}
    assert server(home, client)["args"] == ["--from", "gligabao-mcp[local]", "gligabao-mcp", "stdio"]
    again = run(client, "--llm", "local", "--home", "memory", "--command", "uvx")
    assert (again.exit_code, "nothing to change" in again.output) == (0, True)
    assert (file.read_bytes(), len(list(file.parent.iterdir()))) == (content, 1 + (file.parent == home)), "no backup"

    assert run(client, "--remove").exit_code == 0
    assert "gligabao" not in file.read_text("utf-8")
    assert file.with_name(f"{file.name}.bak1").read_bytes() == content
    assert "nothing to change" in run(client, "--remove").output


@pytest.mark.anyio
async def test_what_is_written_starts_a_server(home: Path) -> None:
    run("claude-code", "--command", "python", "--home", str(home / "my mémoire"), "--llm", "none")
    wrote = server(home, "claude-code")
    assert wrote["type"] == "stdio"
    parameters = StdioServerParameters(
        command=wrote["command"], args=wrote["args"], env=environment(home) | wrote["env"], cwd=home
    )
    async with McpClient(parameters) as client:
        assert {"remember", "query"} <= {tool.name for tool in (await client.list_tools()).tools}
        told = {"text": "Alice lives in Paris.", "edges": [{"source": "Alice", "target": "Paris", "relation": "in"}]}
        assert not (await client.call_tool("remember", told)).is_error
    assert (home / "my mémoire" / "gligabao.db").exists()


def test_places_are_named_by_their_full_path(home: Path) -> None:
    """A client starts the server anywhere."""
    assert run("cursor", "--home", "memory", "--db", "sqlite:///my.db", "--vectors", "s3://bucket/v").exit_code == 0
    project = home / "project"
    assert server(home, "cursor")["env"] == {
        "GLIGABAO_HOME": str(project / "memory"),
        "GLIGABAO_DB": str(project / "my.db"),
        "GLIGABAO_VECTORS": "s3://bucket/v",
    }
    assert run("vscode", "--home", "", "--llm-model", "").exit_code == 0
    assert "env" not in server(home, "vscode")


@pytest.mark.parametrize("client", ["claude-code", "cursor", "vscode", "codex"])
def test_a_project_gets_what_is_the_same_on_every_machine(home: Path, client: str) -> None:
    assert run(client, "--project").exit_code == 0
    file = home / "project" / CLIENTS[client].project_file
    assert '"uvx"' in file.read_text("utf-8"), "no path of this machine"
    assert not written(home, client).exists()
    refused = run("claude-desktop", "--project")
    assert (refused.exit_code, "one configuration for all projects" in refused.stderr) == (2, True)


@pytest.mark.parametrize(
    ("folder", "lasts"),
    [
        ("share/uv/tools/gligabao-mcp/bin", True),
        ("pipx/venvs/gligabao-mcp/bin", True),
        ("cache/uv/archive-v0/Xyz/bin", False),
        (".cache/pipx/abc/bin", False),
        ("temporary/venv/bin", False),
    ],
)
def test_the_script_of_this_installation_starts_it_where_that_lasts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, lasts: bool
) -> None:
    script = tmp_path / folder / "gligabao-mcp"
    script.parent.mkdir(parents=True)
    script.touch(0o755)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr(sysconfig, "get_path", {"scripts": str(script.parent)}.__getitem__)
    command, args = launched("auto", {"local"}, shared=False)
    assert (command, args) == (str(script), ["stdio"]) if lasts else args[:2] == ["--from", "gligabao-mcp[local]"]
    assert launched("auto", (), shared=True) == ("uvx", ["gligabao-mcp", "stdio"])
    assert launched("script", (), shared=True)[0] == str(script)


def test_a_server_that_runs_is_named_by_its_address(home: Path) -> None:
    for client in ("claude-code", "cursor", "vscode", "codex"):
        assert run(client, "--http", "http://127.0.0.1:7878", "--token-env", "TOKEN").exit_code == 0
        assert server(home, client)["url"] == "http://127.0.0.1:7878/v1/gb/mcp"
    assert server(home, "claude-code")["headers"] == {"Authorization": "Bearer ${TOKEN}"}
    assert server(home, "cursor")["headers"] == {"Authorization": "Bearer ${env:TOKEN}"}
    assert server(home, "vscode")["headers"] == {"Authorization": "Bearer ${env:TOKEN}"}
    assert server(home, "codex")["bearer_token_env_var"] == "TOKEN"
    assert "takes no address" in run("claude-desktop", "--http", "http://127.0.0.1:7878").stderr
    for address in ("https://memory.example.com/", "http://[::1]:7878", "HTTP://nas:1/v1/gb/mcp", "http://nas/memory/"):
        assert run("cursor", "--http", address).exit_code == 0
        path = "" if address.count("/") > 3 else "/v1/gb/mcp"
        assert server(home, "cursor")["url"] == (address if path == "" else address.rstrip("/") + path)


def test_keys_go_by_name_and_are_copied_only_when_asked(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    for client in ("claude-code", "cursor", "vscode", "codex"):
        run(client, "--env", "ANTHROPIC_API_KEY")
        assert "sk-secret" not in written(home, client).read_text("utf-8")
    assert server(home, "codex")["env_vars"] == ["ANTHROPIC_API_KEY"]
    assert "expands no variables" in run("claude-desktop", "--env", "ANTHROPIC_API_KEY").stderr
    shown = run("claude-desktop", "--copy-env", "ANTHROPIC_API_KEY", "--dry-run")
    assert ("***" in shown.output, "sk-secret" in shown.output) == (True, False)
    shown = run("cursor", "--db", "postgresql://me:sk-secret@host/name", "--dry-run")
    assert ("me:***@host" in shown.output, "sk-secret" in shown.output) == (True, False)
    run("claude-desktop", "--copy-env", "ANTHROPIC_API_KEY")
    assert server(home, "claude-desktop")["env"] == {"ANTHROPIC_API_KEY": "sk-secret"}
    assert stat.S_IMODE(written(home, "claude-desktop").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--name", "my server"], "--name:"),
        (["--http", "localhost:7878"], "--http:"),
        (["--http", "http://[::1"], "--http:"),
        (["--http", ""], "--http:"),
        (["--http", "http://me:sk-secret@127.0.0.1:7878"], "--http:"),
        (["--http", "http://127.0.0.1:7878?x=1"], "--http:"),
        (["--http", "http://127.0.0.1:7878/#x"], "--http:"),
        (["--http", "http://my host:7878"], "--http:"),
        (["--http", "http://127.0.0.1:7878", "--token-env", ""], "--token-env:"),
        (["--http", "http://127.0.0.1:7878", "--token-env", "gbt_sk0secret"], "--token-env:"),
        (["--http", "http://127.0.0.1:7878", "--llm", "local"], "--http:"),
        (["--token-env", "TOKEN"], "--token-env:"),
        (["--env", "KEY=sk-secret"], "--env:"),
        (["--copy-env", "NOT_SET_ANYWHERE"], "--copy-env:"),
        (["--chunk-size", "none"], "chunk_size"),
        (["--file", "x.json", "--project"], "--file:"),
    ],
)
def test_what_makes_no_sense_is_a_sentence(home: Path, arguments: list[str], said: str) -> None:
    refused = run("cursor", *arguments)
    assert (refused.exit_code, said in refused.stderr, "sk-secret" in refused.output) == (2, True, False)
    assert not written(home, "cursor").exists()


def test_the_lines_of_the_document_run(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-secret")
    document = (ROOT / "docs" / "clients.md").read_text("utf-8")
    lines = re.findall(r"^gligabao install (.*?)(?:  +#.*)?$", document, re.MULTILINE)
    assert {line.split()[0] for line in lines} == set(CLIENTS)
    for line in lines:
        done = run(*shlex.split(line), "--dry-run")
        assert done.exit_code == 0, done.output
    for client in CLIENTS.values():
        for platform in ("linux", "darwin"):
            assert f"`{client.file(Machine(platform, Path('~'), {}))}`" in document


# What was there -------------------------------------------------------------------------------------------------------

COMMENTED = """\
{
    // servers of mine
    "servers": {
        "other": { "command": "x", "args": [1, 2,], /* why */ "url": "http://a//b" }, // last
    },
    "inputs": [ {"id": "k", "type": "promptString"} ],
}
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_comments_and_layout_stay_as_they_are(newline: str) -> None:
    text = COMMENTED.replace("\n", newline)
    path = ("servers", "gligabao")
    put = installed(Json(), text, path, ENTRY)
    kept = put.splitlines(keepends=True)
    assert [row for row in text.splitlines(keepends=True) if row not in kept] == []
    assert Json().read(put)["servers"] == {"other": {"command": "x", "args": [1, 2], "url": "http://a//b"}} | {
        "gligabao": ENTRY
    }
    assert f'        "gligabao": {{{newline}            "command"' in put, "the indentation of the file"
    assert put.count("\n") == put.count(newline)
    assert removed(Json(), put, path) == text


@pytest.mark.parametrize(
    "text",
    ["{}", "{ }\n", '{"mcpServers":{}}', '{\n\t"a": 1\n}', '{"a": 1}', '{"mcpServers": {"b": {}}}', "", "// none\n{}"],
)
def test_every_layout_takes_an_entry(text: str) -> None:
    put = installed(Json(), text, PATH, ENTRY)
    before: dict[str, Any] = Json().read(text)
    assert Json().read(put) == before | {"mcpServers": before.get("mcpServers", {}) | {"gligabao": ENTRY}}
    assert Json().read(removed(Json(), put, PATH)) == {"mcpServers": {}} | before


BLANKS = st.sampled_from(["", " ", "\n", "\n  ", "\t", "\r\n    ", "// note\n", "/* a, } */", " // {\n\n  "])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12)
ENTRIES = st.dictionaries(st.text(min_size=1).filter(lambda name: name != "gligabao"), VALUES, max_size=4)
DOCUMENTS = st.tuples(st.dictionaries(st.text(), VALUES, max_size=4), st.none() | ENTRIES)


@st.composite
def laid_out(draw: st.DrawFn, value: object) -> str:
    """The value as a person might have written it."""
    if isinstance(value, dict):
        parts = cast("dict[str, object]", value).items()
        members = [f"{json.dumps(k)}{draw(BLANKS)}:{draw(BLANKS)}{draw(laid_out(v))}" for k, v in parts]
        return _rows(draw, "{", members, "}")
    if isinstance(value, list):
        return _rows(draw, "[", [draw(laid_out(part)) for part in cast("list[object]", value)], "]")
    return json.dumps(value, ensure_ascii=draw(st.booleans()))


def _rows(draw: st.DrawFn, opening: str, parts: list[str], closing: str) -> str:
    rows = ",".join(f"{draw(BLANKS)}{part}{draw(BLANKS)}" for part in parts)
    comma = "," if parts and draw(st.booleans()) else ""
    return f"{opening}{rows}{comma}{draw(BLANKS)}{closing}"


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS, st.data())
def test_any_json_survives_install_and_remove(
    document: tuple[dict[str, Any], dict[str, Any] | None], data: Any
) -> None:
    rest, servers = document
    rest.pop("mcpServers", None)
    before = rest if servers is None else {**rest, "mcpServers": servers}
    text = data.draw(laid_out(before))
    put = installed(Json(), text, PATH, ENTRY)
    assert Json().read(put) == before | {"mcpServers": (servers or {}) | {"gligabao": ENTRY}}
    assert list(Json().read(put)) == list(before) + ([] if "mcpServers" in before else ["mcpServers"])
    assert put.count("// note") == text.count("// note") and put.count("/* a, } */") == text.count("/* a, } */")
    assert installed(Json(), put, PATH, ENTRY) == put
    taken = removed(Json(), put, PATH)
    assert Json().read(taken) == {"mcpServers": {}} | before
    assert taken.count("// note") == text.count("// note")


@given(st.text() | st.text('{}[],:"\\/*a1 \n'))
def test_a_text_is_read_or_refused(text: str) -> None:
    try:
        read = Json().read(text)
    except Unreadable:
        with pytest.raises(ValueError):
            json.loads(text or "none", parse_constant=float) if not _is_no_object(text) else json.loads("")
    else:
        assert Json().read(installed(Json(), text, PATH, ENTRY)) != read


def _is_no_object(text: str) -> bool:
    try:
        return not isinstance(json.loads(text), dict)
    except ValueError:
        return False


TOML = """\
# mine
model = "gpt-5" # keep

[mcp_servers.other]
command = "true"

[mcp_servers.gligabao] # ours
command = "old"
startup_timeout_sec = 20 # slow disk
[mcp_servers.gligabao.env]
KEY = "k"

# about the next
[profiles.fast]
model = '''
[mcp_servers.gligabao]
'''
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_toml_keeps_comments_and_what_the_user_added(newline: str) -> None:
    text, path = TOML.replace("\n", newline), ("mcp_servers", "gligabao")
    put = installed(Toml(), text, path, ENTRY)
    ours = tomllib.loads(put)["mcp_servers"]["gligabao"]
    assert ours == ENTRY | {"startup_timeout_sec": 20, "env": {"KEY": "k", "GLIGABAO_LLM": "local"}}
    assert all(note in put for note in ("# mine", "# keep", "# ours", "# slow disk", "# about the next"))
    assert put.count("\n") == put.count(newline)
    taken = removed(Toml(), put, path)
    rest = tomllib.loads(text)
    del rest["mcp_servers"]["gligabao"]
    assert tomllib.loads(taken) == rest
    assert f"# about the next{newline}[profiles.fast]" in taken and "# slow disk" not in taken


NAMES = st.text("abc-_", min_size=1)
LEAVES = st.booleans() | st.integers(-9, 9) | st.text() | st.lists(st.integers(), max_size=3)
TABLES = st.dictionaries(NAMES, LEAVES | st.dictionaries(NAMES, LEAVES, max_size=3), max_size=4)


@settings(deadline=None)
@given(TABLES, st.dictionaries(NAMES, TABLES, max_size=3), st.booleans())
def test_any_toml_survives_install_and_remove(top: dict[str, Any], servers: dict[str, Any], inline: bool) -> None:
    import tomlkit

    path = ("mcp_servers", "gligabao")
    document: Any = tomlkit.parse(tomlkit.dumps(top))
    if inline and servers:
        document["mcp_servers"] = tomlkit.inline_table()
        document["mcp_servers"].update(servers)
    elif servers:
        document["mcp_servers"] = servers
    text = tomlkit.dumps(document)
    before = tomllib.loads(text)
    put = installed(Toml(), text, path, ENTRY)
    assert tomllib.loads(put) == before | {"mcp_servers": servers | {"gligabao": ENTRY}}
    assert installed(Toml(), put, path, ENTRY) == put
    assert tomllib.loads(removed(Toml(), put, path)).get("mcp_servers", {}) == servers


@pytest.mark.parametrize(
    ("client", "content", "said"),
    [
        ("cursor", b'{\n  "mcpServers": {,}\n}', "line 2"),
        ("cursor", b'{"mcpServers": []}', "line 1: mcpServers is not an object"),
        ("cursor", b"[]", "line 1"),
        ("cursor", b'{"a": 1}}', "line 1"),
        ("cursor", b'{\n"a": "caf\xe9"}', "line 2: is not UTF-8"),
        ("cursor", b"\xff\xfe{\x00}\x00", "line 1: is not UTF-8"),
        ("cursor", b'{"a":' + b"[" * 100_000, "nested too deeply"),
        ("codex", b'a = 1\n[mcp_servers\nb = "x"', "line 2"),
        ("codex", b"mcp_servers = 3", "mcp_servers is not a table"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_alone(home: Path, client: str, content: bytes, said: str) -> None:
    file = written(home, client)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    refused = run(client)
    assert (refused.exit_code, said in refused.stderr) == (2, True), refused.stderr
    assert "is not UTF-8" in said or "Put this in by hand" in refused.stderr
    assert [path.read_bytes() for path in file.parent.glob(f"{file.name}*")] == [content]


def test_other_keys_of_the_entry_are_the_users() -> None:
    mine: dict[str, object] = {"timeout": 9, "alwaysAllow": ["query"], "env": {"MY": "1", "GLIGABAO_LLM": "none"}}
    text = json.dumps({"mcpServers": {"gligabao": {"command": "old", **mine}}})
    wanted = {**ENTRY, **mine, "env": {"MY": "1", "GLIGABAO_LLM": "local"}}
    assert Json().read(installed(Json(), text, PATH, ENTRY))["mcpServers"] == {"gligabao": wanted}
    there = entry(CLIENTS["claude-code"], Http("http://h/mcp"))
    moved = installed(Json(), text, PATH, there)
    assert Json().read(moved)["mcpServers"] == {"gligabao": {**there, "timeout": 9, "alwaysAllow": ["query"]}}
    back = installed(Json(), moved, PATH, entry(CLIENTS["cursor"], Stdio("uvx", ["gligabao-mcp", "stdio"])))
    assert "url" not in json.dumps(Json().read(back))


# The file -------------------------------------------------------------------------------------------------------------


def test_mode_links_and_byte_order_mark_are_kept(home: Path) -> None:
    real = home / "dotfiles" / "cursor.json"
    real.parent.mkdir()
    real.write_bytes(codecs.BOM_UTF8 + b'{"mcpServers": {"other": {"command": "x"}}}')
    real.chmod(0o640)
    link = written(home, "cursor")
    link.parent.mkdir()
    link.symlink_to(real)
    assert run("cursor").exit_code == 0
    assert link.is_symlink() and real.read_bytes().startswith(codecs.BOM_UTF8)
    assert json.loads(real.read_text("utf-8-sig"))["mcpServers"].keys() == {"other", "gligabao"}
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert {path.name for path in real.parent.iterdir()} == {"cursor.json", "cursor.json.bak1"}


def test_a_dry_run_shows_the_difference_and_writes_nothing(home: Path) -> None:
    shown = run("vscode", "--dry-run")
    assert shown.output.startswith("--- /dev/null\n+++ ") and '+    "gligabao": {' in shown.output
    assert not written(home, "vscode").parent.exists()


@pytest.mark.parametrize("indent", [None, 2])
def test_a_dry_run_shows_no_key_of_the_neighbours(home: Path, indent: int | None) -> None:
    """What a terminal shows ends up in chats and reports."""
    other = {"headers": {"Authorization": 'Bearer sk-"1"'}, "env": {"MY_API_KEY": "sk-2", "T": "${TOKEN}"}}
    servers = {"gligabao": {"env": {"OPENAI_API_KEY": "sk-3"}}, "other": other}
    document = {"mcpServers": servers, "primaryApiKey": "sk-4"}
    file = written(home, "claude-code")
    file.write_text(json.dumps(document, indent=indent), "utf-8")
    flags = ("--env", "ANTHROPIC_API_KEY", "--dry-run")
    shown = run("claude-code", *flags).output
    assert '"ANTHROPIC_API_KEY": "${ANTHROPIC_API_KEY}"' in shown and "sk-" not in shown
    file = written(home, "codex")
    file.parent.mkdir()
    file.write_text('[mcp_servers.other.env]\nAPI_TOKEN = "sk-5"\n\n', "utf-8")
    shown = run("codex", "--http", "http://h", "--token-env", "TOKEN", "--dry-run").output
    assert 'bearer_token_env_var = "TOKEN"' in shown and "sk-" not in shown


def test_what_the_client_wrote_meanwhile_is_not_lost(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code writes its file at any time."""
    file = written(home, "claude-code")
    file.write_text("{}", "utf-8")
    replace, tries = files.replace, 0

    def interrupted(old: files.Configuration, text: str) -> Path | None:
        nonlocal tries
        tries += 1
        if tries == 1:
            file.write_text('{"projects": {"/p": {}}}', "utf-8")
        return replace(old, text)

    monkeypatch.setattr(command.files, "replace", interrupted)
    assert run("claude-code").exit_code == 0
    assert tries == 2
    assert json.loads(file.read_text("utf-8"))["projects"] == {"/p": {}}


def test_a_place_that_cannot_be_written_is_a_sentence(home: Path) -> None:
    (home / ".cursor").write_text("a file where a folder should be", "utf-8")
    refused = run("cursor")
    assert (refused.exit_code, "can't be" in refused.stderr, "Traceback" in refused.output) == (2, True, False)
    folder = home / "folder.json"
    folder.mkdir()
    assert run("cursor", "--file", str(folder)).exit_code == 2
    assert os.listdir(folder) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names")
def test_what_is_no_file_is_neither_waited_for_nor_replaced(home: Path) -> None:
    pipe = home / "pipe.json"
    os.mkfifo(pipe)
    for arguments in ([], ["--dry-run"], ["--remove"]):
        refused = run("cursor", "--file", str(pipe), *arguments)
        assert (refused.exit_code, refused.stderr) == (2, f"gligabao: {pipe} is no regular file\n")
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root writes for others")
def test_a_file_stays_with_its_user(home: Path) -> None:
    """As with `sudo gligabao install`."""
    file = written(home, "claude-code")
    file.write_text("{}", "utf-8")
    os.chown(file, 4242, 4343)
    file.chmod(0o600)
    assert run("claude-code").exit_code == 0
    for path in (file, file.with_name(f"{file.name}.bak1")):
        found = path.stat()
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (4242, 4343, 0o600)


@pytest.mark.parametrize("written_before", [0, 1])
def test_a_disk_that_is_full_leaves_the_file_and_nothing_beside_it(
    home: Path, monkeypatch: pytest.MonkeyPatch, written_before: int
) -> None:
    """Full at the new file, or at the copy of the old one."""
    file = written(home, "claude-code")
    file.write_text("{}", "utf-8")
    room = iter(range(written_before))

    def synced(_descriptor: int) -> None:
        if next(room, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", synced)
    refused = run("claude-code")
    assert (refused.exit_code, "can't be written (No space left on device)" in refused.stderr) == (2, True)
    assert [path.name for path in home.iterdir() if path.name.startswith(".")] == [file.name]
    assert file.read_text("utf-8") == "{}"
