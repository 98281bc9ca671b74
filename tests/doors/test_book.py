"""A book, told to the command line and read by the embedded engine: watched, killed in the middle, and told again."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.book import book
from tests.processes import COMMAND, PATIENCE, environment

PAGES = 4
FLAGS = ("--llm", "local", "--chunk-size", "256", "--reference-time", "2026-01-01T00:00:00Z")


def told(home: Path, file: Path, stderr: int | None = subprocess.PIPE) -> subprocess.Popen[bytes]:
    command = [*COMMAND, "remember", "--file", str(file), *FLAGS]
    return subprocess.Popen(command, env=environment(home), stdout=subprocess.PIPE, stderr=stderr)


def rows(home: Path, sql: str) -> list[tuple[object, ...]]:
    database = home / "gligabao.db"
    if not database.exists():
        return []
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        try:
            return connection.execute(sql).fetchall()
        except sqlite3.OperationalError:  # not yet there
            return []
        finally:
            connection.commit()


FACTS = """SELECT s.name, e.relation, t.name, s.id, t.id, e.valid_at FROM gb_edges e
           JOIN gb_entities s ON s.id = e.source_id JOIN gb_entities t ON t.id = e.target_id"""


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    file = tmp_path / "book.txt"
    file.write_text(book(PAGES), encoding="utf-8")
    return file


def test_a_book_killed_in_the_middle_and_told_again_has_no_fact_twice(text_file: Path, tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    process = told(killed, text_file)
    deadline = time.monotonic() + PATIENCE * 2
    while len(rows(killed, "SELECT id FROM gb_artifacts WHERE kind = 'chunk'")) < 3 and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.kill()
    process.communicate()
    stored = len(rows(killed, "SELECT id FROM gb_artifacts WHERE kind = 'chunk'"))
    for home in (killed, whole):
        process = told(home, text_file)
        _, errors = process.communicate(timeout=PATIENCE * 6)
        assert process.returncode == 0, errors.decode()
    chunks = len(rows(whole, "SELECT id FROM gb_artifacts WHERE kind = 'chunk'"))
    assert 3 <= stored < chunks
    assert len(rows(killed, "SELECT id FROM gb_artifacts WHERE kind = 'chunk'")) == stored + chunks
    facts = Counter(rows(killed, FACTS))
    assert [fact for fact, times in facts.items() if times > 1] == []
    assert {fact[:3] for fact in facts} == {fact[:3] for fact in rows(whole, FACTS)}


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals")
def test_who_tells_a_book_in_a_terminal_sees_how_far_it_is(text_file: Path, tmp_path: Path) -> None:
    terminal, other_end = os.openpty()
    process = told(tmp_path / "home", text_file, stderr=other_end)
    os.close(other_end)
    seen = b""
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        seen += piece
        if not piece:
            break
    out, _ = process.communicate(timeout=PATIENCE)
    os.close(terminal)
    assert process.returncode == 0
    chunks = len(rows(tmp_path / "home", "SELECT id FROM gb_artifacts WHERE kind = 'chunk'"))
    assert f"{chunks}/{chunks}".encode() in seen
    assert b"Remembered as artifact" in out
