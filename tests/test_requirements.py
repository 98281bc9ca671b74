"""Every promise that is due has a test, and every test names promises that exist."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.requirements import PROMISES, requirement

DUE: Final = 5
"""The issue being worked on: its promises, and those of the issues before it, must be proven."""

HERE: Final = Path(__file__).parent
ID: Final = re.compile(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*")


def test_every_promise_that_is_due_has_a_test() -> None:
    proven = {id for _, id in ids_named_by_tests()}
    unproven = {id: promise for id, promise in PROMISES.items() if promise.due <= DUE and id not in proven}
    assert not unproven, "no test names these promises:\n" + "\n".join(f"{id}: {p}" for id, p in unproven.items())


def test_every_test_names_promises_that_exist() -> None:
    unknown = [f"{path}: {id}" for path, id in ids_named_by_tests() if id not in PROMISES]
    assert not unknown, "tests name promises that do not exist:\n" + "\n".join(unknown)


def test_an_unknown_promise_cannot_be_named() -> None:
    with pytest.raises(KeyError, match=re.escape("query.unheard-of")):
        requirement("query.unheard-of")


def test_every_id_is_written_once_and_in_kebab_case_after_its_area() -> None:
    written = Counter(ids_in_the_manifest())
    assert [id for id, times in written.items() if times > 1] == []
    assert [id for id in written if not ID.fullmatch(id)] == []


def test_no_id_is_ever_merged_or_removed() -> None:
    committed = (HERE / "requirements.txt").read_text(encoding="utf-8").splitlines()
    gone = sorted(set(committed) - PROMISES.keys())
    new = sorted(PROMISES.keys() - set(committed))
    assert not gone, f"ids are never merged or removed, put them back into PROMISES: {gone}"
    assert not new, f"add the new ids to requirements.txt, in sorted order: {new}"
    assert committed == sorted(committed)


def ids_named_by_tests() -> Iterator[tuple[str, str]]:
    """Each file and id of a `requirement("…")`, read from the source so that one file can be run alone."""
    for path in sorted(HERE.rglob("test_*.py")):
        for mark in marks_of_tests(ast.parse(path.read_text(encoding="utf-8"))):
            for node in ast.walk(mark):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "requirement":
                    yield from ((path.name, str(ast.literal_eval(id))) for id in node.args)


def marks_of_tests(module: ast.Module) -> Iterator[ast.expr]:
    """The decorators of test functions, and the `marks=` of their parameters."""
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield from node.decorator_list
        if isinstance(node, ast.keyword) and node.arg == "marks":
            yield node.value


def ids_in_the_manifest() -> Iterator[str]:
    """The keys as written: a dict would hide one that is written twice."""
    for node in ast.walk(ast.parse((HERE / "requirements.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            yield from (str(ast.literal_eval(key)) for key in node.keys if key is not None)
