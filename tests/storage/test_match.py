"""Seeds found in SQL, against the pure score: the same entities in the same order, whatever the texts hold."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from core.config import Config
from core.query.retrieve import match_for
from core.query.score import score
from core.text import fold, name_key
from gligabao_mcp.wiring import database_url
from storage import tables as t
from storage.database import Database
from storage.match import seeds
from storage.migrations import migrate
from tests.requirements import requirement

START = datetime(2026, 1, 1, tzinfo=UTC)
# Few words, so that many entities tie and many names overlap; among them what a pattern or a quote could mean.
WORDS = """
    al alice alicia ali new york newark the of c c++ c# r go 50% 5_% % _ * ? [a-z] o'brien " \\ ; -- drop table x1 x10
    AND NOT post-merge team:sync jürgen JÜRGEN Ju\u0308rgen groß 東京 東京大学 京都 猫 हिन्दी राम रामायण ❤️ 😀
""".split()  # noqa: SIM905 -- a block of words reads better than 50 strings


@dataclass(frozen=True)
class Row:
    id: int
    name: str
    description: str
    updated_at: datetime


@pytest.fixture
def database(config: Config) -> Generator[Database]:
    database = Database(database_url(config))
    migrate(database)
    yield database
    database.close()


def insert(database: Database, dataset_id: int, rows: Iterable[Row]) -> None:
    """The rows as entities of a new dataset."""
    dataset = {"id": dataset_id, "user_id": f"u{dataset_id}", "name": "main", "head_seq": 1, "created_at": START}
    with database.engine.begin() as connection:
        connection.execute(sa.insert(t.datasets).values(dataset))
        connection.execute(sa.insert(t.entities), [_values(dataset_id, row) for row in rows])


def _values(dataset_id: int, row: Row) -> dict[str, object]:
    return {
        "id": row.id,
        "dataset_id": dataset_id,
        "name": row.name,
        "name_key": name_key(row.name),
        "type": f"type-{row.id}",
        "description": row.description,
        "desc_key": fold(row.description),
        "created_at": row.updated_at,
        "updated_at": row.updated_at,
        "created_seq": 1,
        "text_seq": 1,
    }


def describe_again(database: Database, dataset_id: int, row: Row, later: str, seq: int) -> None:
    """From commit `seq` on, in the hour of that number, the row says something else."""
    version = {
        "entity_id": row.id,
        "seq": seq,
        "dataset_id": dataset_id,
        "changed_at": START + timedelta(hours=seq),
        "name": row.name,
        "type": f"type-{row.id}",
        "description": row.description,
    }
    now = sa.update(t.entities).where(t.entities.c.id == row.id)
    with database.engine.begin() as connection:
        connection.execute(sa.insert(t.entity_versions).values(version))
        connection.execute(now.values(description=later, desc_key=fold(later)))


def found(database: Database, dataset_id: int, question: str, known_at: datetime | None = None) -> list[int]:
    match = match_for(question, None, known_at)
    return [entity.id for entity in database.read_now(lambda connection: seeds(connection, dataset_id, match))]


def expected(rows: Iterable[Row], question: str) -> list[int]:
    """The ten best by the pure score, else the twenty-five most recent ones."""
    scored = [(score(question, row.name, row.description), row.updated_at, row.id) for row in rows]
    best = sorted((s for s in scored if s[0] > 0), reverse=True)[:10]
    recent = sorted(((moment, i) for _, moment, i in scored), reverse=True)[:25]
    return [i for _, _, i in best] or [i for _, i in recent]


def some(chance: random.Random, least: int, most: int) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(least, most)))


def named(chance: random.Random) -> str:
    while not name_key(name := some(chance, 1, 3)):
        continue
    return name


def any_row(chance: random.Random, number: int) -> Row:
    moment = START + timedelta(hours=chance.randint(0, 5), microseconds=chance.randint(0, 1))
    return Row(number, named(chance), some(chance, 0, 5), moment)


@requirement(
    "query.keyword-retrieval",
    "query.score-whole-name",
    "query.score-terms",
    "query.seeds-top-10",
    "query.fallback-25",
)
def test_sql_finds_what_the_pure_score_finds(database: Database) -> None:
    chance = random.Random(2026)
    number = 0
    for dataset_id in range(1, 9):
        size = chance.choice((1, 2, 9, 10, 11, 30, 60, 150))
        rows = [any_row(chance, number + i) for i in range(1, size + 1)]
        number += size
        insert(database, dataset_id, rows)
        for question in [some(chance, 1, chance.choice((2, 5, 14))) for _ in range(20)]:
            assert found(database, dataset_id, question) == expected(rows, question), (dataset_id, question)


def test_a_dataset_among_many_others_is_searched_all_the_same(database: Database) -> None:
    chance = random.Random(7)
    others = [any_row(chance, number) for number in range(1, 401)]
    mine = [any_row(chance, number) for number in range(401, 431)]
    insert(database, 1, others)
    insert(database, 2, mine)
    for question in [some(chance, 1, 6) for _ in range(40)]:
        assert found(database, 2, question) == expected(mine, question), question


@requirement("temporal.system-time")
def test_what_was_said_at_a_time_is_what_is_searched_at_that_time(database: Database) -> None:
    chance = random.Random(11)
    rows = [any_row(chance, number) for number in range(1, 121)]
    insert(database, 1, rows)
    said = {0: rows}
    for hour in (10, 20):
        chosen = {row.id for row in chance.sample(rows, 60)}
        rows = [replace(row, description=some(chance, 1, 5)) if row.id in chosen else row for row in rows]
        for before, after in zip(said[hour - 10], rows, strict=True):
            if before.description != after.description:
                describe_again(database, 1, before, after.description, hour)
        said[hour] = rows
    for question in [some(chance, 1, 4) for _ in range(15)]:
        for hour, then in said.items():
            known_at = START + timedelta(hours=hour + 6)
            assert found(database, 1, question, known_at) == expected(then, question), (hour, question)
        early = START + timedelta(hours=2)
        there = [row for row in said[0] if row.updated_at <= early]
        assert found(database, 1, question, early) == expected(there, question), question


@requirement("query.seeds-top-10")
def test_a_tie_goes_to_the_more_recently_updated_one_then_to_the_newer_row(database: Database) -> None:
    hour = timedelta(hours=1)
    rows = [Row(number, f"Alice {number}", "", START + hour * (number % 4)) for number in range(1, 31)]
    insert(database, 1, rows)
    top = found(database, 1, "alice")
    assert top == [27, 23, 19, 15, 11, 7, 3, 30, 26, 22]
    best = Row(31, "Alice", "", START - hour)
    insert(database, 2, [best])
    with database.engine.begin() as connection:
        connection.execute(sa.update(t.entities).where(t.entities.c.id == 31).values(dataset_id=1))
    assert found(database, 1, "alice") == [31, *top[:9]]


@requirement("query.fallback-25")
def test_where_nothing_matches_the_most_recently_updated_ones_are_the_seeds(database: Database) -> None:
    rows = [Row(number, f"Name {number}", "text", START + timedelta(hours=-number)) for number in range(1, 41)]
    insert(database, 1, rows)
    for question in ("What do you know?", "zebra", "is it?", "?!", "x"):
        assert found(database, 1, question) == list(range(1, 26)), question
    assert found(database, 1, "text") == list(range(1, 11))


def test_signs_of_patterns_and_of_sql_mean_themselves(database: Database) -> None:
    names = [
        "50%",
        "50 percent",
        "a_b",
        "axb",
        "O'Brien; DROP TABLE gb_entities;--",
        'say "hi"',
        "back\\slash",
        "*",
        "[a]",
    ]
    rows = [Row(number, name, "", START) for number, name in enumerate(names, start=1)]
    insert(database, 1, rows)
    assert found(database, 1, "What is 50%?") == [1, 2]
    assert found(database, 1, "a_b") == [3]
    assert found(database, 1, "O'Brien") == [5]
    assert found(database, 1, "O'Brien; DROP TABLE gb_entities;--") == [5]
    assert found(database, 1, 'say "hi"') == [6]
    assert found(database, 1, "back\\slash") == [7]
    assert found(database, 1, "is * there?") == [8]
    assert found(database, 1, "' OR 1=1 --") == [9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert found(database, 1, "%") == [9, 8, 7, 6, 5, 4, 3, 2, 1]


@requirement("query.terms-at-most-12")
def test_the_longest_question_is_no_trouble(database: Database) -> None:
    rows = [Row(1, "Alice", "", START), Row(2, "w" * 2_000, "", START), Row(3, "Bob", "w" * 60_000, START)]
    insert(database, 1, rows)
    assert found(database, 1, "w" * 60_000) == [3]
    assert found(database, 1, "w" * 2_000) == [2, 3]
    assert found(database, 1, f"{'filler ' * 9_000}alice") == [1]
    assert found(database, 1, "'\"%_*?[" * 9_000) == [3, 2, 1]
