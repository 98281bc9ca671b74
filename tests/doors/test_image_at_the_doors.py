"""An image through every door: as base64, or on the command line as a file."""

from __future__ import annotations

import json
from pathlib import Path

import anyio.to_thread
import httpx2
import pytest
from click.testing import CliRunner, Result

from core.config import Config
from gligabao_mcp.cli import cli
from tests.doors.matrix import Tools
from tests.drawn import as_base64, drawn
from tests.requirements import requirement
from tests.wire import Wire, chat

pytestmark = pytest.mark.anyio

READ = {
    "theme": "plot",
    "title": "Revenue 2025",
    "blocks": [{"text": "Q1", "role": "axis_label"}, {"text": "2.5 M", "role": "label"}],
    "language": "en",
}
SAID = chat(json.dumps(READ))


@requirement("images.base64", "images.pipeline", "images.known-image")
async def test_over_rest_it_is_read_once_and_then_known(rest: httpx2.AsyncClient, wire: Wire) -> None:
    wire.says(SAID)
    asked = {"user_id": "u1", "image": f"data:image/png;base64,{as_base64(drawn())}", "session_id": "chat-1"}
    first = await rest.post("/v1/gb/remember", json=asked)
    assert first.status_code == 200
    body = first.json()
    assert set(body) == {
        "remember_run_id",
        "artifact_id",
        "kind",
        "sha256",
        "media_type",
        "width",
        "height",
        "theme",
        "title",
        "blocks",
        "session_id",
        "valid_at",
        "created_at",
        "deduplicated",
    }
    assert {name: body[name] for name in ("theme", "title", "blocks")} == {k: READ[k] for k in READ if k != "language"}
    again = await rest.post("/v1/gb/remember", json=asked)
    assert again.json() == body | {"remember_run_id": body["remember_run_id"] + 1, "deduplicated": True}
    assert len(wire.asked) == 1


@requirement("images.no-text-no-kind", "images.no-timeseries-no-web-search")
@pytest.mark.parametrize("field", ["text", "kind", "timeseries", "web_search"])
async def test_over_rest_what_can_not_stand_beside_it_is_named(
    rest: httpx2.AsyncClient, wire: Wire, field: str
) -> None:
    value: dict[str, object] = {"text": "a", "kind": "episode", "timeseries": {}, "web_search": True}
    refused = await rest.post(
        "/v1/gb/remember", json={"user_id": "u1", "image": as_base64(drawn()), field: value[field]}
    )
    assert refused.status_code == 400
    assert refused.json()["error"] == f"{field}: can't be given with image"
    assert refused.json()["param"] == field
    assert wire.asked == []


@requirement("images.base64")
async def test_over_mcp_it_is_taken_and_not_listed(tools: Tools, wire: Wire) -> None:
    wire.says(SAID)
    tool = next(tool for tool in (await tools.client.list_tools()).tools if tool.name == "remember")
    assert "image" not in tool.input_schema["properties"]
    told = await tools.done("remember", image=as_base64(drawn()))
    assert (told["title"], told["blocks"]) == (READ["title"], READ["blocks"])


async def command(settings: Config, *arguments: str) -> Result:
    known = ("--home", str(settings.home), "--llm", "openai", "--llm-base-url", settings.llm_base_url)
    whole = [*arguments, *known, "--llm-model", "qwen3"]
    return await anyio.to_thread.run_sync(lambda: CliRunner().invoke(cli, whole))


async def test_the_command_line_takes_a_file(settings: Config, wire: Wire, tmp_path: Path) -> None:
    wire.says(SAID)
    file = tmp_path / "plot.gif"
    file.write_bytes(drawn("GIF"))
    shown = await command(settings, "remember", "--image", str(file))
    assert shown.output == "Image, artifact 1, plot: Revenue 2025\n  Q1\n  2.5 M\n"
    again = await command(settings, "remember", "--image", str(file))
    assert again.output.startswith("Known already: image, artifact 1, plot: Revenue 2025\n")
    as_json = await command(settings, "remember", "--json", "--image", str(file))
    assert json.loads(as_json.output)["media_type"] == "image/gif"


async def test_the_command_line_says_what_is_wrong_with_a_file(settings: Config, tmp_path: Path) -> None:
    file = tmp_path / "text.png"
    missing = await command(settings, "remember", "--image", str(file))
    assert missing.exit_code == 2 and "can't read" in missing.output
    file.write_text("no image", encoding="utf-8")
    refused = await command(settings, "remember", "--image", str(file))
    assert refused.exit_code == 2 and "image: must be a PNG, JPEG, GIF or WebP image" in refused.output
    both = await command(settings, "remember", "Words.", "--image", str(file))
    assert both.exit_code == 2 and "text: can't be given with image" in both.output
