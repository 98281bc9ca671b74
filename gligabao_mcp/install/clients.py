"""Which clients there are: where each keeps its configuration on each platform, and how it wants an entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gligabao_mcp.install.jsonc import Json
from gligabao_mcp.install.texts import Format
from gligabao_mcp.install.toml import Toml


@dataclass(frozen=True, slots=True)
class Machine:
    """What decides where a file is."""

    platform: str
    """As sys.platform says it."""
    home: Path
    environ: Mapping[str, str]

    @property
    def app_data(self) -> Path:
        """Where desktop applications keep the user's settings."""
        if self.platform == "win32":
            return self.folder("APPDATA", "AppData/Roaming")
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        return self.folder("XDG_CONFIG_HOME", ".config")

    @property
    def local_app_data(self) -> Path:
        """Where Windows keeps what belongs to this machine alone."""
        return self.folder("LOCALAPPDATA", "AppData/Local")

    def folder(self, variable: str, default: str) -> Path:
        """The folder that a variable names, else its default in the home folder."""
        stated = self.environ.get(variable, "")
        return Path(stated) if stated else self.home / default


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client of MCP."""

    title: str
    file: Callable[[Machine], Path]
    """The configuration of the user, for all projects."""
    project_file: str = ""
    """The configuration of one project, in its folder; none where the client has no projects."""
    format: Format
    container: str = "mcpServers"
    """The key that holds the servers."""
    typed: bool
    """Whether an entry says its transport."""
    variable: str = ""
    """How a value of the client's own environment is named; empty where it expands none."""
    http: bool = True
    then: str
    """What the user does next."""


def _claude_desktop(machine: Machine) -> Path:
    name = "claude_desktop_config.json"
    if machine.platform == "win32":
        packaged = sorted(machine.local_app_data.glob("Packages/Claude_*/LocalCache/Roaming/Claude"))
        if packaged:
            # The packaged application sees this folder under the name of the other one, and reads no other.
            return next((folder for folder in packaged if (folder / name).exists()), packaged[0]) / name
    return machine.app_data / "Claude" / name


CLIENTS: Mapping[str, Client] = {
    "claude-desktop": Client(
        title="Claude Desktop",
        file=_claude_desktop,
        format=Json(),
        typed=False,
        http=False,
        then="quit Claude Desktop and start it again",
    ),
    "claude-code": Client(
        title="Claude Code",
        file=lambda machine: machine.folder("CLAUDE_CONFIG_DIR", "") / ".claude.json",
        project_file=".mcp.json",
        format=Json(),
        typed=True,
        variable="${{{}}}",
        then="`claude mcp list` shows it; a new session has it",
    ),
    "cursor": Client(
        title="Cursor",
        file=lambda machine: machine.home / ".cursor" / "mcp.json",
        project_file=".cursor/mcp.json",
        format=Json(),
        typed=False,
        variable="${{env:{}}}",
        then="restart Cursor and see that the server is switched on in its settings",
    ),
    "vscode": Client(
        title="VS Code",
        file=lambda machine: machine.app_data / "Code" / "User" / "mcp.json",
        project_file=".vscode/mcp.json",
        format=Json(),
        container="servers",
        typed=True,
        variable="${{env:{}}}",
        then='"MCP: List Servers" in VS Code starts it',
    ),
    "codex": Client(
        title="Codex",
        file=lambda machine: machine.folder("CODEX_HOME", ".codex") / "config.toml",
        project_file=".codex/config.toml",
        format=Toml(),
        container="mcp_servers",
        typed=False,
        then="`codex mcp list` shows it; a new session has it",
    ),
}
