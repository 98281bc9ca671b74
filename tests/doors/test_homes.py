"""Odd homes: paths of every kind, folders that can't be written, locales and users that nobody thought of."""

from __future__ import annotations

import json
import os
import stat
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from core.config import Config
from core.errors import InvalidRequest
from gligabao_mcp.settings import load
from gligabao_mcp.wiring import database_url, open_core, restore_backup, vectors_uri
from storage.database import file_of
from storage.vectors import LanceIndex, VectorRow
from tests.processes import COMMAND, environment, stdio

EDGE = {"source": "Alice", "target": "Paris", "relation": "lives in"}
TOLD: dict[str, Any] = {"text": "Alice lives in Paris.", "edges": [EDGE]}
NAMES = [
    *(
        "my memory",
        "it's",
        "Đặng ở Huế \U0001f389",
        "50%",
        "a%20b",
        "a%2Fb",
        "a+b",
        "#1",
        "{x}",
        "[y]",
        "~z",
        "x;y",
        "a&b=c",
    ),
    *(() if sys.platform == "win32" else ('say "hi"', "what?", "a:b", "back\\slash", "tab*")),
    "x" * 200,
]
# A folder in which even root makes nothing.
NOWHERE = "/sys/gligabao"
needs_nowhere = pytest.mark.skipif(not Path("/sys/kernel").exists(), reason="a folder that nobody can write in")


def command(home: Path | str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """What a command of the command line did in a process of its own."""
    environ = environment(Path(home), **more)
    return subprocess.run([*COMMAND, *arguments], env=environ, capture_output=True, encoding="utf-8", timeout=60)


def remember(home: Path | str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return command(home, "remember", TOLD["text"], "--edges", json.dumps([EDGE]), *arguments, **more)


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_home_of_any_name_holds_the_database_and_its_vectors(tmp_path: Path, name: str) -> None:
    home = tmp_path / name
    config = Config(home=home)
    assert file_of(database_url(config)) == home / "gligabao.db"
    index = LanceIndex(vectors_uri(config))
    index.upsert(1, "edges", [VectorRow(7, "text", 1, struct.pack("<2f", 1, 0))])
    again = LanceIndex(vectors_uri(config))
    assert [hit.ref_id for hit in again.search(1, "edges", [struct.pack("<2f", 1, 0)], 1)[0]] == [7]
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert [path.name for path in home.iterdir()] == ["vectors"]


@pytest.mark.anyio
async def test_a_database_of_any_name_is_kept_backed_up_and_restored(tmp_path: Path) -> None:
    from gligabao_mcp.wiring import open_upkeep

    for name in ("50% of it's.db", "a%20b #1.db", "Huế?.db"):
        config = Config(home=tmp_path / "home", db=str(tmp_path / name))
        async with open_core(config) as core:
            assert core.database == Path(name).stem
        async with open_upkeep(config) as upkeep:
            await upkeep.back_up(tmp_path / f"{name}.zip")
        (tmp_path / name).unlink()
        await restore_backup(config, tmp_path / f"{name}.zip", force=False)
        assert (tmp_path / name).exists()
    assert {path.suffix for path in tmp_path.iterdir() if path.is_file()} <= {".db", ".zip", ".db-wal", ".db-shm"}


def test_stdio_serves_a_home_with_spaces_quotes_and_letters_of_all_scripts(tmp_path: Path) -> None:
    """C089: under a locale that knows none of them, too."""
    home = tmp_path / 'Đặng\'s "memory" 100%'
    with stdio(home, LC_ALL="C") as server:
        server.initialize()
        assert server.call("remember", **TOLD)["artifact_id"] == 1
        assert server.close() == 0
    assert (home / "gligabao.db").exists()
    assert [path.name for path in tmp_path.iterdir()] == [home.name]


def test_a_path_that_no_index_can_have_is_refused(tmp_path: Path) -> None:
    for name in ("two\nlines", "\udcff"):
        with pytest.raises(InvalidRequest, match="home: has control characters or is not UTF-8"):
            database_url(Config(home=tmp_path / name))
    with pytest.raises(InvalidRequest, match="home: begins with a home folder that is not known"):
        load({"home": "~nobody-of-this-name/memory"}, {})


def test_a_relative_home_is_below_the_working_folder_and_a_link_leads_where_it_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert remember("memory").returncode == 0
    assert (tmp_path / "memory" / "gligabao.db").exists()
    assert vectors_uri(Config(home=Path("memory"), vectors="index")) == str(tmp_path / "index")
    assert vectors_uri(Config(home=Path("memory"), vectors="s3://bucket/index")) == "s3://bucket/index"
    (tmp_path / "link").symlink_to(tmp_path / "memory", target_is_directory=True)
    assert "artifact 2" in remember("link").stdout
    assert stat.S_IMODE((tmp_path / "memory").stat().st_mode) == 0o700


def test_without_any_home_the_data_folder_has_to_be_named(tmp_path: Path) -> None:
    """As in a container whose user has no name and no home."""
    code = (
        "import os, pwd; os.environ.pop('HOME', None)\n"
        "def nobody(uid): raise KeyError(uid)\n"
        "pwd.getpwuid = nobody\n"
        "from gligabao_mcp.cli import cli; cli()"
    )
    environ = {name: value for name, value in environment(tmp_path).items() if not name.startswith(("HOME", "XDG_"))}
    named = environ | {"GLIGABAO_HOME": str(tmp_path / "data")}
    del environ["GLIGABAO_HOME"]
    for given, code_expected in ((environ, 2), (named, 0)):
        done = subprocess.run(
            [sys.executable, "-c", code, "status"], env=given, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == code_expected, done.stderr
        assert done.returncode == 0 or done.stderr.startswith("gligabao: home: this user has no home folder")
    assert [path.name for path in tmp_path.iterdir()] == ["data"], 'no folder of the name "~"'


# What can't be written ------------------------------------------------------------------------------------------------


def unwritable(tmp_path: Path) -> dict[str, tuple[str, str]]:
    """Homes that can't be, and what is said of each."""
    (tmp_path / "file").write_text("", "utf-8")
    return {
        "a file": (str(tmp_path / "file"), "can't be written"),
        "a long name": (str(tmp_path / ("x" * 300)), "too long"),
        "nowhere": (NOWHERE, "can't be written"),
    }


@needs_nowhere
@pytest.mark.parametrize("which", ["a file", "a long name", "nowhere"])
def test_a_home_that_cannot_be_is_a_sentence_at_every_door(tmp_path: Path, which: str) -> None:
    home, said = unwritable(tmp_path)[which]
    for done in (remember(home), command(home, "serve", "--port", "0")):
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[-1].startswith("gligabao: home: the data folder ")
        assert said in done.stderr and "Traceback" not in done.stderr
    with stdio(Path(home)) as server:
        server.initialize()
        assert len(server.ask("tools/list")["result"]["tools"]) == 2, "a host still sees what there would be"
        for _ in range(2):
            refused = server.ask("tools/call", {"name": "remember", "arguments": TOLD})["result"]
            assert refused["isError"] and said in refused["structuredContent"]["error"]
            assert refused["structuredContent"]["code"] == "invalid_request"
        assert server.close() == 0


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_home_is_a_sentence(tmp_path: Path) -> None:
    home = tmp_path / "memory"
    assert remember(home).returncode == 0
    for path in (*home.iterdir(), home):
        path.chmod(0o500 if path.is_dir() else 0o400)
    done = remember(home)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "gligabao: " in done.stderr
    home.chmod(0o700)


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "can't be opened as a file"), (b"no database, but long enough to be looked at" * 9, "is not a database")],
    ids=["a folder", "another file"],
)
def test_what_is_no_database_is_a_sentence_and_stays_as_it_is(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "other"
    path.mkdir() if content is None else path.write_bytes(content)
    done = remember(tmp_path / "home", "--db", str(path))
    assert (done.returncode, said in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr
    assert path.is_dir() or path.read_bytes() == content


@needs_nowhere
def test_a_database_in_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    done = remember(tmp_path, "--db", "/sys/gligabao.db")
    assert (done.returncode, done.stderr.startswith("gligabao: db: ")) == (2, True), done.stderr


# Streams --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_the_command_line_speaks_utf_8_whatever_the_console(tmp_path: Path, encoding: str) -> None:
    """C089: a Windows console, as far as it can be played elsewhere."""
    text = "Đặng ở Huế \U0001f389"
    edges = json.dumps([EDGE | {"source": text}], ensure_ascii=False)
    code = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": encoding}
    told = command(tmp_path, "remember", f"{text} is here.", "--edges", edges, **code)
    assert told.returncode == 0, told.stderr
    assert text in told.stdout
    assert text in command(tmp_path, "query", "--no-answer", text, **code).stdout
    assert text in (tmp_path / "gligabao.db").read_bytes().decode("utf-8", "replace")


def test_what_keeps_a_stdio_server_from_starting_is_said_on_stderr_alone(tmp_path: Path) -> None:
    """C088: also when nothing else will be said."""
    done = command(tmp_path, "stdio", GLIGABAO_CHUNK_SIZE="some")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gligabao: setting chunk_size: ")


# Plays what our own code asks of the platform: the names that Windows lacks are gone, its C runtime is written down.
AS_ON_WINDOWS = """
import asyncio, os, signal, sys, types
import gligabao_mcp.cli, gligabao_mcp.mcp_door.server, gligabao_mcp.stdio_transport, gligabao_mcp.wiring
set_binary = []
sys.modules["msvcrt"] = types.SimpleNamespace(setmode=lambda descriptor, mode: set_binary.append(mode))
os.O_BINARY = 0x8000
for name in ("SIGHUP", "SIGKILL", "SIGUSR1", "SIGALRM"):
    delattr(signal, name)
for name in ("getuid", "geteuid", "fork", "killpg"):
    delattr(os, name)
sys.platform = "win32"
gligabao_mcp.cli.cli(["stdio"], standalone_mode=False)
sys.stderr.write(f"{set_binary}")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="plays that platform")
def test_stdio_asks_windows_for_nothing_that_it_lacks(tmp_path: Path) -> None:
    me = {"name": "test", "version": "1"}
    lines: list[dict[str, Any]] = [
        {
            "id": 0,
            "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": me},
        },
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/call", "params": {"name": "remember", "arguments": TOLD}},
    ]
    command = [sys.executable, "-c", AS_ON_WINDOWS]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment(tmp_path), stdin=pipe, stdout=pipe, stderr=pipe) as server:
        assert server.stdin and server.stdout and server.stderr
        for line in lines:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        assert (server.wait(30), answers[1]["result"]["structuredContent"]["artifact_id"]) == (0, 1)
        assert server.stderr.read().endswith(b"[32768, 32768]"), "both ends of the wire are binary"
