"""The dependency rule: gligabao_mcp (doors, providers, wiring) -> core <- storage."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for package in ("core", "storage", "gligabao_mcp") for path in (ROOT / package).rglob("*.py"))
DATABASES = {"sqlalchemy", "lancedb", "pyarrow", "psycopg"}
# Wheels that only compute: allowed inside the function that needs them.
COMPUTATION = {"toktok", "toktok_rs", "numpy", "rapidfuzz"}
STORAGE = DATABASES | {"numpy", "psutil", "pydantic", "pyoxigraph"}
HEAVY = DATABASES | {"anthropic", "openai", "spacy", "onnxruntime", "tokenizers", "pyoxigraph", "rapidfuzz"}


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """Every imported module, and whether the import runs when the module is imported."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inside = {id(part) for node in ast.walk(tree) if _runs_later(node) for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, id(node) not in inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: import by full name"
            yield node.module, id(node) not in inside


def _runs_later(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def package(module: str) -> str:
    return module.split(".")[0]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_imports_keep_to_their_layer(path: Path) -> None:
    layer = package(name(path).replace("/", "."))
    for module, at_import in imports(path):
        top = package(module)
        own = top in sys.stdlib_module_names or top == layer
        if layer == "core":
            assert own or top == "pydantic" or (top in COMPUTATION and not at_import), module
        elif layer == "storage":
            assert own or top == "core" or top in STORAGE, module
        elif name(path) != "gligabao_mcp/wiring.py":
            assert top != "storage" and top not in DATABASES, module
            assert not module.startswith("gligabao_mcp.providers") or "providers" in path.parts, module


@pytest.mark.parametrize("path", [p for p in SOURCES if not name(p).startswith("storage/")], ids=name)
def test_heavy_libraries_are_imported_where_they_are_needed(path: Path) -> None:
    assert not [module for module, at_import in imports(path) if at_import and package(module) in HEAVY]
