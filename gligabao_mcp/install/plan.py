"""What the flags of `gligabao install` ask for: which entry in which file."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from core.access import PREFIX
from core.errors import InvalidRequest
from gligabao_mcp.install import files
from gligabao_mcp.install.change import installed, removed
from gligabao_mcp.install.clients import Client, Machine
from gligabao_mcp.install.entries import Entry, Http, Stdio, entry, launched
from gligabao_mcp.install.texts import Unreadable
from gligabao_mcp.settings import PLACES, load, place, variable, without_passwords

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
# A token of ours could be one, were it not for what it begins with.
_VARIABLE = re.compile(rf"(?!{PREFIX})[A-Za-z_][A-Za-z0-9_]*")
# Without a user, a query or a fragment; its path is the group.
_ADDRESS = re.compile(r"https?://(?:[^\s/@?#:\[\]]+|\[[0-9a-f:.]+\])(?::\d{1,5})?(/[^\s@?#]*)?", re.IGNORECASE)
# What is secret by the name of its member, in JSON and TOML; "${NAME}" and the name of a variable are not.
_SECRET = re.compile(
    r"""((?<![\w.-])[\w.-]{0,60}(?:key|token|secret|password|authorization)(?!_env_var)[\w.-]{0,60}"?\s*[:=]\s*)"""
    r'''"(?!(?:Bearer )?\$\{)(?:[^"\\]|\\.)+"''',
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What shall become of which file."""

    client: Client
    file: Path
    name: str
    entry: Entry | None
    """None: the server is taken out."""
    secrets: Sequence[str] = ()
    """Values that are not to be shown on a terminal."""

    @property
    def path(self) -> tuple[str, str]:
        return self.client.container, self.name

    def applied(self, old: files.Configuration) -> str:
        """The new text; raises InvalidRequest for a file that can't be read or changed, with what a person could put
        in by hand."""
        form, text = self.client.format, old.text
        try:
            if self.entry is None:
                return removed(form, text, self.path)
            return installed(form, text, self.path, self.entry)
        except Unreadable as error:
            by_hand = "" if self.entry is None else f" Put this in by hand:\n{form.snippet(self.path, self.entry)}"
            raise InvalidRequest(f"{old.path}: {error}; nothing was written.{self.hidden(by_hand)}") from None

    def hidden(self, text: str) -> str:
        """The text as a terminal may show it, or a chat: without what is a key by its name, of the neighbours too."""
        for secret in self.secrets:
            for written in (secret, json.dumps(secret, ensure_ascii=False)[1:-1]):
                text = text.replace(written, "***")
        return without_passwords(_SECRET.sub(r'\1"***"', text))


def plan(client: Client, given: Mapping[str, Any]) -> Plan:
    """What the flags ask for; raises InvalidRequest for what makes no sense or the client can't do."""
    if not _NAME.fullmatch(given["name"]):
        raise InvalidRequest("--name: has letters, digits, - and _, 64 at most", param="name")
    file = _file(client, given["file"], project=given["project"])
    if given["remove"]:
        return Plan(client, file, given["name"], None)
    copied = {name: _value(name) for name in given["copied"]}
    env = _settings_as_variables(given) | copied
    server = _stdio(given, env) if given["url"] is None else _http(given, env)
    return Plan(client, file, given["name"], entry(client, server), tuple(copied.values()))


def _file(client: Client, stated: Path | None, *, project: bool) -> Path:
    if stated is not None:
        if project:
            raise InvalidRequest("--file: can't be given with --project", param="file")
        return stated
    if not project:
        return client.file(_machine())
    if not client.project_file:
        raise InvalidRequest(f"--project: {client.title} has one configuration for all projects", param="project")
    return Path.cwd() / client.project_file


def _machine() -> Machine:
    try:
        return Machine(sys.platform, Path.home(), os.environ)
    except RuntimeError:
        raise InvalidRequest("--file: the home folder is unknown; name the client's configuration file") from None


def _http(given: Mapping[str, Any], env: Mapping[str, str]) -> Http:
    if env or given["passed_on"]:
        raise InvalidRequest("--http: a server that runs has its settings already; give none here", param="http")
    token = cast("str | None", given["token_env"])
    return Http(_endpoint(given["url"]), "" if token is None else _checked(token, "--token-env"))


def _endpoint(url: str) -> str:
    """The address of the MCP endpoint on a server whose address is given with a path or without one."""
    from gligabao_mcp.http import MCP_PATH

    address = _ADDRESS.fullmatch(url)
    if address is None:
        raise InvalidRequest(
            "--http: must be an address like http://127.0.0.1:7878/v1/gb/mcp, without a password or a query",
            param="http",
        )
    return url if (address[1] or "").strip("/") else url.rstrip("/") + MCP_PATH


def _stdio(given: Mapping[str, Any], env: Mapping[str, str]) -> Stdio:
    if given["token_env"] is not None:
        raise InvalidRequest("--token-env: goes with --http", param="token_env")
    command, args = launched(given["launcher"], _extras(given), shared=given["project"])
    return Stdio(command, args, env, [_checked(name, "--env") for name in given["passed_on"]])


def _extras(given: Mapping[str, Any]) -> set[str]:
    """The extras of the distribution that the settings need."""
    extras: set[str] = set()
    if "local" in (given["llm"], given["embedder"]):
        extras.add("local")
    if str(given["db"] or "").startswith("postgresql"):
        extras.add("postgres")
    return extras


def _settings_as_variables(given: Mapping[str, Any]) -> dict[str, str]:
    """The settings that were given as flags, checked; places by their full path, for a client starts anywhere."""
    from core.config import Config

    flags = {name: given[name] for name in Config.model_fields if given.get(name) not in (None, "")}
    load(flags, {})
    return {variable(name): _spelled(name, value) for name, value in flags.items()}


def _spelled(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(cast("tuple[str, ...]", value))
    text = str(value).removeprefix("sqlite:///")
    return str(place(Path(text), name)) if name in PLACES and "://" not in text else str(value)


def _checked(name: str, flag: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise InvalidRequest(f"{flag}: is the name of a variable, not its value", param=flag.strip("-"))
    return name


def _value(name: str) -> str:
    value = os.environ.get(_checked(name, "--copy-env"), "")
    if not value:
        raise InvalidRequest("--copy-env: names a variable that is not set", param="copy_env")
    return value
