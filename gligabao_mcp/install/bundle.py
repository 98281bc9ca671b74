"""The bundle that Claude Desktop installs with a click: `python -m gligabao_mcp.install.bundle FOLDER` lays out what
`make bundle` packs. Its manifest is read from the tables that the server itself is made of."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.config import Config
from gligabao_mcp import __version__
from gligabao_mcp.settings import choices, is_secret, variable

if TYPE_CHECKING:
    import mcp_types as types
    from pydantic.fields import FieldInfo

ROOT = Path(__file__).parents[2]
PACKAGES = ("core", "storage", "gligabao_mcp")
START = "start.py"
# What a person would set in a dialogue, besides the keys; everything else can stand in gligabao.toml.
_ASKED = ("home", "llm", "llm_base_url", "llm_model", "tools", "user_id")
_CAPITALS = {"Api": "API", "Llm": "LLM", "Url": "URL", "Id": "ID", "Openai": "OpenAI"}

# Stands apart from the packages: a script's own folder is searched first, and gligabao_mcp has modules with the names
# of others.
_START = '''\
"""What Claude Desktop starts: the MCP server on stdin and stdout."""

import os
import sys
from contextlib import suppress

from core.errors import GligabaoError
from gligabao_mcp.cli import main
from gligabao_mcp.settings import load

with suppress(GligabaoError):  # what is wrong with the settings, the server itself says
    settings = load({}, os.environ)
    if settings.sources["llm"] == "default" and settings.config.anthropic_api_key is None:
        os.environ["GLIGABAO_LLM"] = "local"

sys.argv[1:] = ["stdio"]
main()
'''
# Where the dialogue has more to say than the setting.
_SAID_THERE = {"llm": "Empty: anthropic if its key is set, else local.", "home": "Empty: the data folder of the user."}


def manifest() -> dict[str, Any]:
    """The manifest.json of the bundle."""
    project = _project()
    asked = {name: field for name, field in Config.model_fields.items() if name in _ASKED or is_secret(field)}
    return {
        "manifest_version": "0.4",
        "name": project["name"],
        "display_name": "Gligabao memory",
        "version": __version__,
        "description": project["description"],
        "author": {"name": "gligabao"},
        "license": project["license"],
        "keywords": project["keywords"],
        "server": {
            "type": "uv",
            "entry_point": START,
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", START],
                "env": {variable(name): f"${{user_config.{name}}}" for name in asked},
            },
        },
        "tools": _tools(),
        "tools_generated": True,
        "prompts": asyncio.run(_prompts()),
        "user_config": {name: _field(name, field) for name, field in asked.items()},
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": project["requires-python"]},
        },
    }


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def _tools() -> list[dict[str, str]]:
    from gligabao_mcp.mcp_door.tools import tools

    return [{"name": tool.name, "description": tool.description or ""} for tool in tools("default")]


async def _prompts() -> list[dict[str, Any]]:
    from gligabao_mcp.mcp_door.prompts import list_prompts

    return [await _prompt(prompt) for prompt in (await list_prompts(None, None)).prompts]


async def _prompt(prompt: types.Prompt) -> dict[str, Any]:
    import mcp_types as types

    from gligabao_mcp.mcp_door.prompts import get_prompt

    names = [argument.name for argument in prompt.arguments or []]
    placeholders = {name: f"${{arguments.{name}}}" for name in names}
    shown = await get_prompt(None, types.GetPromptRequestParams(name=prompt.name, arguments=placeholders))
    text = shown.messages[0].content
    assert isinstance(text, types.TextContent)
    return {"name": prompt.name, "description": prompt.description or "", "arguments": names, "text": text.text}


def _field(name: str, field: FieldInfo) -> dict[str, Any]:
    """A setting in the dialogue."""
    words = " ".join(_CAPITALS.get(word, word) for word in name.replace("_", " ").title().split())
    few = f" One of {', '.join(choices(field))}." if choices(field) else ""
    said = _SAID_THERE.get(name) or field.description
    described: dict[str, Any] = {
        "type": "directory" if "Path" in str(field.annotation) else "string",
        "title": words[0] + words[1:],
        "description": f"{said}{few}",
        "required": False,
    }
    return described | ({"sensitive": True} if is_secret(field) else {})


# Laying it out ------------------------------------------------------------------------------------------------------


def lay_out(folder: Path) -> None:
    """Writes the files of the bundle into the folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for package in PACKAGES:
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(ROOT / "LICENSE", folder)
    (folder / START).write_text(_START, "utf-8")
    (folder / "pyproject.toml").write_text(_pyproject(), "utf-8")
    (folder / "manifest.json").write_text(json.dumps(manifest(), indent=2, ensure_ascii=False) + "\n", "utf-8")


def _pyproject() -> str:
    """What uv installs: the libraries, with those of the embedded engine. The packages themselves lie beside it."""
    project = _project()
    libraries = [*project["dependencies"], *project["optional-dependencies"]["local"]]
    rows = "".join(f"  {json.dumps(library)},\n" for library in libraries)
    return (
        f'[project]\nname = "{project["name"]}-bundle"\nversion = "{__version__}"\n'
        f'requires-python = "{project["requires-python"]}"\ndependencies = [\n{rows}]\n\n[tool.uv]\npackage = false\n'
    )


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]))
