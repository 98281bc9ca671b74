"""Whatever is sent to a documented route, the answer is a documented one, and never a 500 (schemathesis)."""

from __future__ import annotations

import json
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from gligabao_mcp.openapi import document
from tests.processes import served

schemathesis: Any = import_module("schemathesis")

# Documents that are no JSON are sent as the texts that they are.
schemathesis.serializer.alias(
    ["application/sparql-update", "application/n-triples", "application/n-quads", "application/trig", "text/turtle"],
    "text/plain",
)

OPERATIONS = [f"{method.upper()} {path}" for path, methods in document()["paths"].items() for method in methods]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """A server with the embedded engine and something in it: ids that are guessed may be there."""
    home: Path = tmp_path_factory.mktemp("fuzz")
    with served(home, "--llm", "local", "--tools", "full") as (url, _):
        import httpx2

        for text in ("Alice works at Acme and lives in Paris.", "Alice moved to Berlin in March 2026."):
            body = json.dumps({"user_id": "local", "text": text})
            assert httpx2.post(f"{url}/v1/gb/remember", content=body, timeout=60).status_code == 200
        yield url


# What the answer must be: documented, status, type of content and schema alike. That 5xx are answers as well (no model,
# an outage) is documented; only 500 is not.
checks: Any = import_module("schemathesis.specs.openapi.checks")
CHECKS = (checks.status_code_conformance, checks.content_type_conformance, checks.response_schema_conformance)


# What hypothesis thinks slow or large is how schemathesis makes its requests.
UNHURRIED = (
    HealthCheck.too_slow,
    HealthCheck.filter_too_much,
    HealthCheck.data_too_large,
    HealthCheck.large_base_example,
)


@pytest.mark.parametrize("name", OPERATIONS)
def test_whatever_is_sent_is_answered_as_documented(server: str, name: str) -> None:
    method, path = name.split(" ")
    operation = schemathesis.openapi.from_dict(document())[path][method]

    @settings(max_examples=30, deadline=None, suppress_health_check=UNHURRIED, database=None, derandomize=True)
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        response = case.call(base_url=server)
        assert response.status_code != 500, (case.as_curl_command(), response.text)
        case.validate_response(response, checks=CHECKS)

    check()
