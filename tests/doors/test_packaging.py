"""What clients and registries install: the bundle, the registry's entry and the image say what the server is."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest
from mcp import Client, StdioServerParameters

from core.config import Config
from gligabao_mcp.install.bundle import START, lay_out, manifest
from gligabao_mcp.settings import KNOWN_VARIABLES, choices, is_secret, variable
from tests.processes import ROOT, environment

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
VARIABLES = {variable(name): field for name, field in Config.model_fields.items()} | {
    known: Config.model_fields[name] for name, known in KNOWN_VARIABLES.items()
}


@pytest.mark.anyio
async def test_the_bundle_starts_out_of_its_own_folder_and_lists_what_its_manifest_says(tmp_path: Path) -> None:
    """As Claude Desktop does it, with every field of the dialogue left empty."""
    folder, home = tmp_path / "my bundle", tmp_path / "home"
    await anyio.to_thread.run_sync(lay_out, folder)
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    config = said["server"]["mcp_config"]
    assert (said["server"]["type"], config["command"], config["args"][-1]) == ("uv", "uv", START)
    given = {name: "" if "KEY" in name else value for name, value in config["env"].items()}
    environ = {name: value for name, value in environment(home).items() if not name.startswith(("GLIGABAO_", "PYTHON"))}
    server = StdioServerParameters(
        command=sys.executable,
        args=[str(folder / START)],
        env=environ | given | {"GLIGABAO_HOME": str(home)},
        cwd=os.path.sep,
    )
    async with Client(server) as client:
        listed = (await client.list_tools()).tools
        assert [(tool.name, tool.description) for tool in listed] == [
            (tool["name"], tool["description"]) for tool in said["tools"]
        ]
        prompts = (await client.list_prompts()).prompts
        assert [prompt.name for prompt in prompts] == [prompt["name"] for prompt in said["prompts"]]
        where = await client.call_tool("remember", {"text": "Alice works at Acme."})
        assert where.structured_content["edges"][0]["relation"] == "works_at", "the embedded engine, without a key"
    assert (home / "gligabao.db").exists()


def test_the_manifest_is_made_of_the_settings() -> None:
    said = manifest()
    assert (said["manifest_version"], said["name"], said["version"]) == ("0.4", PROJECT["name"], PROJECT["version"])
    asked: dict[str, dict[str, Any]] = said["user_config"]
    assert said["server"]["mcp_config"]["env"] == {variable(name): f"${{user_config.{name}}}" for name in asked}
    secret = {name for name, field in Config.model_fields.items() if is_secret(field)}
    assert {name for name, field in asked.items() if field.get("sensitive")} == secret
    assert not any(field["required"] for field in asked.values()), "a click is enough"
    texts = {prompt["name"]: prompt for prompt in said["prompts"]}
    for prompt in texts.values():
        assert set(re.findall(r"\$\{arguments\.(\w+)}", prompt["text"])) == set(prompt["arguments"])


def test_the_bundle_installs_what_the_package_needs(tmp_path: Path) -> None:
    lay_out(tmp_path / "bundle")
    needs = tomllib.loads((tmp_path / "bundle" / "pyproject.toml").read_text("utf-8"))["project"]
    assert needs["dependencies"] == [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["local"]]
    assert needs["requires-python"] == PROJECT["requires-python"]
    assert not list((tmp_path / "bundle").rglob("__pycache__"))


def test_the_entry_of_the_registry_is_that_of_this_release() -> None:
    listed = json.loads((ROOT / "server.json").read_text("utf-8"))
    package = listed["packages"][0]
    assert {listed["version"], package["version"]} == {PROJECT["version"]}
    assert package["identifier"] == PROJECT["name"]
    assert f"<!-- mcp-name: {listed['name']} -->" in (ROOT / "README.md").read_text("utf-8")
    assert len(listed["description"]) <= 100
    assert package["packageArguments"][0]["value"] == "stdio"
    for given in package["environmentVariables"]:
        field = VARIABLES[given["name"]]
        assert given.get("isSecret", False) == is_secret(field)
        assert tuple(given.get("choices", ())) == choices(field)


def test_the_image_is_made_of_what_is_there() -> None:
    image = (ROOT / "Dockerfile").read_text("utf-8")
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    copied = {name for line in re.findall(r"^COPY (?!--from)(.*) \S+$", image, re.MULTILINE) for name in line.split()}
    assert copied == let_in and all((ROOT / name).exists() for name in copied)
    assert set(re.findall(r"GLIGABAO_\w+", image)) <= VARIABLES.keys()
    extras = re.search(r"'\.\[(.*)]'", image)
    assert extras and set(extras[1].split(",")) <= PROJECT["optional-dependencies"].keys()
    assert image.index("USER ") < image.index("ENTRYPOINT"), "the server runs as nobody's administrator"
