"""The entry of this server in a configuration: what starts it, or where it listens."""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias, cast

from core.errors import InvalidRequest
from gligabao_mcp.install.clients import Client
from gligabao_mcp.install.toml import Toml

Entry: TypeAlias = dict[str, object]
Launcher: TypeAlias = Literal["auto", "script", "python", "uvx"]

SCRIPT = "gligabao-mcp"
# What says how to reach a server: all of it is ours. Everything else in an entry is the user's and stays.
_TRANSPORT = frozenset({"type", "command", "args", "url", "bearer_token_env_var"})
_OF_STDIO = frozenset({"env", "env_vars", "cwd", "envFile"})
_OF_HTTP = frozenset({"headers", "http_headers", "env_http_headers", "headersHelper"})
# Environments that uv and pipx make for one call, and may remove at any time.
_PASSING = ("archive-v", "environments-v", "builds-v", ".cache")


@dataclass(frozen=True, slots=True)
class Stdio:
    """The client starts the server."""

    command: str
    args: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    passed_on: Sequence[str] = ()
    """Variables of the client's own environment that the server gets under the same name."""


@dataclass(frozen=True, slots=True)
class Http:
    """The server runs already."""

    url: str
    token_env: str = ""
    """The variable that holds the token."""


def entry(client: Client, server: Stdio | Http) -> Entry:
    """The entry as the client wants it; raises InvalidRequest for what the client can't do."""
    return _http(client, server) if isinstance(server, Http) else _stdio(client, server)


def _stdio(client: Client, server: Stdio) -> Entry:
    typed: Entry = {"type": "stdio"} if client.typed else {}
    env = dict(server.env)
    made: Entry = {**typed, "command": server.command, "args": list(server.args)}
    if isinstance(client.format, Toml):
        more: Entry = {"env_vars": list(server.passed_on)} if server.passed_on else {}
        return {**made, **more, **({"env": env} if env else {})}
    if server.passed_on and not client.variable:
        raise InvalidRequest(
            f"--env: {client.title} expands no variables; put the key into gligabao.toml, or --copy-env writes it here",
            param="env",
        )
    env |= {name: client.variable.format(name) for name in server.passed_on}
    return {**made, **({"env": env} if env else {})}


def _http(client: Client, server: Http) -> Entry:
    if not client.http:
        raise InvalidRequest(
            f"--http: the configuration file of {client.title} takes no address; add it in the application's settings",
            param="http",
        )
    typed: Entry = {"type": "http"} if client.typed else {}
    made: Entry = {**typed, "url": server.url}
    if not server.token_env:
        return made
    if isinstance(client.format, Toml):
        return made | {"bearer_token_env_var": server.token_env}
    return made | {"headers": {"Authorization": f"Bearer {client.variable.format(server.token_env)}"}}


def merged(old: object, new: Entry) -> Entry:
    """The new entry with what the user added to the old one: other keys, and other variables or headers."""
    if not isinstance(old, dict):
        return new
    ours = _TRANSPORT | (_OF_STDIO if "url" in new else _OF_HTTP)
    kept = {key: value for key, value in cast("Entry", old).items() if key not in ours or key in new}
    return kept | {key: _joined(kept.get(key), value) for key, value in new.items()}


def _joined(old: object, new: object) -> object:
    """Of two objects the members of both, else the new value."""
    return cast("Entry", old) | cast("Entry", new) if isinstance(old, dict) and isinstance(new, dict) else new


# What starts it -----------------------------------------------------------------------------------------------------


def launched(launcher: Launcher, extras: Iterable[str], *, shared: bool) -> tuple[str, list[str]]:
    """The command and arguments that start `gligabao stdio`.

    auto takes the script of this installation where that will last, by its full path: applications of the desktop do
    not search the PATH of a shell. A configuration that is `shared` with others gets uvx, which is the same for all.
    """
    script = _script()
    if launcher == "auto":
        launcher = "script" if script and _lasts(script) and not shared else "uvx"
    if launcher == "python":
        return sys.executable, ["-m", "gligabao_mcp", "stdio"]
    if launcher == "script":
        if script is None:
            raise InvalidRequest(f"--command: {SCRIPT} is not installed beside {sys.executable}", param="command")
        return str(script), ["stdio"]
    names = ",".join(sorted(extras))
    source = ["--from", f"gligabao-mcp[{names}]"] if names else []
    return (not shared and shutil.which("uvx")) or "uvx", [*source, SCRIPT, "stdio"]


def _script() -> Path | None:
    """The script that this installation put beside its interpreter."""
    found = shutil.which(SCRIPT, path=sysconfig.get_path("scripts"))
    return Path(found).absolute() if found else None


def _lasts(script: Path) -> bool:
    real = script.resolve()
    passing = any(part.startswith(_PASSING) for part in real.parts)
    return not passing and not real.is_relative_to(Path(tempfile.gettempdir()).resolve())
