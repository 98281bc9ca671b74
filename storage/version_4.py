"""Schema version 4, from version 3: the step of a released schema, frozen. It never reads tables.py, which moves on."""

from __future__ import annotations

from sqlalchemy.engine import Connection

_TYPES = {
    "sqlite": {
        "key": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
        "id": "INTEGER",
        "time": "VARCHAR(27)",
        "bytes": "BLOB",
    },
    "postgresql": {
        "key": "BIGSERIAL NOT NULL PRIMARY KEY",
        "id": "BIGINT",
        "time": "TIMESTAMP WITH TIME ZONE",
        "bytes": "BYTEA",
    },
}
_FOREIGN = "FOREIGN KEY(dataset_id) REFERENCES gb_datasets (id) ON DELETE CASCADE"


def to_version_4(connection: Connection) -> None:
    """What each commit touched, loaded triples, and what asking in plain words keeps."""
    types = {**_TYPES[connection.dialect.name], "of_dataset": _FOREIGN}
    for statement in _STATEMENTS:
        connection.exec_driver_sql(statement.format_map(types))


_STATEMENTS = (
    "ALTER TABLE gb_commits ADD COLUMN kind VARCHAR",
    "ALTER TABLE gb_commits ADD COLUMN touched JSON",
    "CREATE INDEX gb_entity_versions_seq ON gb_entity_versions (dataset_id, seq)",
    """CREATE TABLE gb_quads (
        id {key},
        dataset_id {id} NOT NULL,
        digest {bytes} NOT NULL,
        subject TEXT NOT NULL,
        predicate TEXT NOT NULL,
        object TEXT NOT NULL,
        graph TEXT NOT NULL,
        created_seq BIGINT NOT NULL,
        removed_seq BIGINT,
        {of_dataset}
    )""",
    "CREATE INDEX gb_quads_created ON gb_quads (dataset_id, created_seq)",
    "CREATE INDEX gb_quads_removed ON gb_quads (dataset_id, removed_seq)",
    "CREATE UNIQUE INDEX gb_quads_one_there ON gb_quads (dataset_id, digest) WHERE removed_seq IS NULL",
    """CREATE TABLE gb_idempotent_writes (
        user_id VARCHAR NOT NULL,
        dataset VARCHAR NOT NULL,
        idempotency_key VARCHAR NOT NULL,
        request_sha256 VARCHAR NOT NULL,
        response JSON NOT NULL,
        created_at {time} NOT NULL,
        PRIMARY KEY (user_id, dataset, idempotency_key)
    )""",
    "CREATE INDEX gb_idempotent_writes_time ON gb_idempotent_writes (created_at)",
    "CREATE TABLE gb_question_days (day VARCHAR NOT NULL PRIMARY KEY, asked INTEGER NOT NULL)",
    """CREATE TABLE gb_profiles (
        dataset_id {id} NOT NULL,
        version INTEGER NOT NULL,
        notes TEXT NOT NULL,
        examples JSON NOT NULL,
        updated_at {time} NOT NULL,
        PRIMARY KEY (dataset_id),
        {of_dataset}
    )""",
    """CREATE TABLE gb_eval_traces (
        id VARCHAR NOT NULL PRIMARY KEY,
        dataset_id {id} NOT NULL,
        labeled BOOLEAN NOT NULL,
        body JSON NOT NULL,
        created_at {time} NOT NULL,
        {of_dataset}
    )""",
    "CREATE INDEX gb_eval_traces_time ON gb_eval_traces (dataset_id, created_at)",
    """CREATE TABLE gb_goldens (
        id VARCHAR NOT NULL,
        dataset_id {id} NOT NULL,
        body JSON NOT NULL,
        created_at {time} NOT NULL,
        PRIMARY KEY (dataset_id, id),
        {of_dataset}
    )""",
    """CREATE TABLE gb_eval_suites (
        dataset_id {id} NOT NULL,
        version INTEGER NOT NULL,
        settings JSON NOT NULL,
        PRIMARY KEY (dataset_id),
        {of_dataset}
    )""",
    """CREATE TABLE gb_eval_results (
        id {key},
        dataset_id {id} NOT NULL,
        runner VARCHAR NOT NULL,
        body JSON NOT NULL,
        created_at {time} NOT NULL,
        {of_dataset}
    )""",
    "CREATE INDEX gb_eval_results_runner ON gb_eval_results (dataset_id, runner, id)",
    """CREATE TABLE gb_embeddings (
        id {key},
        dataset_id {id} NOT NULL,
        name VARCHAR NOT NULL,
        class_iri TEXT NOT NULL,
        recipe JSON NOT NULL,
        model VARCHAR NOT NULL,
        dim INTEGER NOT NULL,
        version INTEGER NOT NULL,
        embedded_seq BIGINT,
        usage JSON NOT NULL,
        owner VARCHAR,
        lease_until {time},
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        UNIQUE (dataset_id, name),
        {of_dataset}
    )""",
    """CREATE TABLE gb_embedding_entries (
        id {key},
        dataset_id {id} NOT NULL,
        embedding_id {id} NOT NULL,
        iri TEXT NOT NULL,
        text_sha256 VARCHAR NOT NULL,
        UNIQUE (embedding_id, iri),
        {of_dataset},
        FOREIGN KEY(embedding_id) REFERENCES gb_embeddings (id) ON DELETE CASCADE
    )""",
)
