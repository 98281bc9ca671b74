"""Schema version 2, from version 1: the step of a released schema, frozen. It never reads tables.py, which moves on."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.text import fold

_BATCH = 500
_TYPES: Mapping[str, Mapping[str, str]] = {
    "sqlite": {
        "id": "INTEGER",
        "key": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
        "time": "VARCHAR(27)",
        "blob": "BLOB",
        "false": "0",
        "true": "1",
    },
    "postgresql": {
        "id": "BIGINT",
        "key": "BIGSERIAL NOT NULL PRIMARY KEY",
        "time": "TIMESTAMP WITH TIME ZONE",
        "blob": "BYTEA",
        "false": "false",
        "true": "true",
    },
}


def to_version_2(connection: Connection) -> None:
    """Documents, images, jobs, forgetting and vector generations. On SQLite foreign keys must be off: tables whose ids
    are never used twice from now on are written anew."""
    types = _TYPES[connection.dialect.name]

    def run(statement: str) -> None:
        connection.exec_driver_sql(statement.format_map(types))

    if connection.dialect.name == "sqlite":
        for table, columns in _REBUILT.items():
            _rebuild(connection, table, columns.format_map(types))
        for statement in _INDEXES_OF_REBUILT:
            run(statement)
    else:
        for statement in _ALTERED_INSTEAD:
            run(statement)
    for statement in (*_CHANGED, *_NEW):
        run(statement)
    _fold_texts(connection)


def _rebuild(connection: Connection, table: str, columns: str) -> None:
    """The table with the same rows under the same name: what refers to it goes on doing so."""
    connection.exec_driver_sql(f"CREATE TABLE new_{table} ({columns})")
    old = ", ".join(row.name for row in connection.exec_driver_sql(f"PRAGMA table_info({table})"))
    connection.exec_driver_sql(f"INSERT INTO new_{table} ({old}) SELECT {old} FROM {table}")
    connection.exec_driver_sql(f"DROP TABLE {table}")
    connection.exec_driver_sql(f"ALTER TABLE new_{table} RENAME TO {table}")


def _fold_texts(connection: Connection) -> None:
    """Words are looked for in the texts that are there already, too: all of them are whole texts."""
    read = sa.text("SELECT id, text FROM gb_artifacts WHERE id > :last ORDER BY id LIMIT :most")
    write = sa.text("UPDATE gb_artifacts SET text_key = :key WHERE id = :row")
    last = 0
    while rows := connection.execute(read, {"last": last, "most": _BATCH}).all():
        connection.execute(write, [{"row": row.id, "key": fold(row.text)} for row in rows])
        last = rows[-1].id


_REBUILT = {
    "gb_datasets": """
        id {key},
        user_id VARCHAR NOT NULL,
        name VARCHAR NOT NULL,
        embedding_model VARCHAR,
        embedding_dim INTEGER,
        head_seq BIGINT NOT NULL,
        head_at {time},
        vector_generation INTEGER DEFAULT '0' NOT NULL,
        forgotten_id INTEGER DEFAULT '0' NOT NULL,
        created_at {time} NOT NULL,
        UNIQUE (user_id, name, forgotten_id)
    """,
    "gb_artifacts": """
        id {key},
        dataset_id INTEGER NOT NULL,
        kind VARCHAR NOT NULL,
        text TEXT NOT NULL,
        text_key TEXT,
        index_name VARCHAR,
        session_id VARCHAR,
        valid_at {time} NOT NULL,
        created_at {time} NOT NULL,
        seq BIGINT NOT NULL,
        run_id INTEGER,
        parent_id INTEGER,
        chunk_index INTEGER,
        start_offset INTEGER,
        end_offset INTEGER,
        tokens INTEGER,
        overlap_tokens INTEGER,
        model_id VARCHAR,
        inference_id INTEGER,
        speaker VARCHAR,
        external_id VARCHAR,
        FOREIGN KEY(dataset_id) REFERENCES gb_datasets (id) ON DELETE CASCADE,
        FOREIGN KEY(parent_id) REFERENCES gb_artifacts (id) ON DELETE CASCADE
    """,
    "gb_entities": """
        id {key},
        dataset_id INTEGER NOT NULL,
        name VARCHAR NOT NULL,
        name_key VARCHAR NOT NULL,
        type VARCHAR NOT NULL,
        description TEXT NOT NULL,
        desc_key TEXT NOT NULL,
        model_id VARCHAR,
        created_at {time} NOT NULL,
        updated_at {time} NOT NULL,
        created_seq BIGINT NOT NULL,
        text_seq BIGINT NOT NULL,
        UNIQUE (dataset_id, name_key, type),
        FOREIGN KEY(dataset_id) REFERENCES gb_datasets (id) ON DELETE CASCADE
    """,
    "gb_edges": """
        id {key},
        dataset_id INTEGER NOT NULL,
        source_id INTEGER NOT NULL,
        target_id INTEGER NOT NULL,
        relation VARCHAR NOT NULL,
        description TEXT NOT NULL,
        artifact_id INTEGER,
        model_id VARCHAR,
        valid_at {time} NOT NULL,
        invalid_at {time},
        created_at {time} NOT NULL,
        expired_at {time},
        valid_at_source VARCHAR NOT NULL,
        invalid_at_source VARCHAR,
        valid_precision VARCHAR NOT NULL,
        invalid_precision VARCHAR,
        invalid_set_at {time},
        invalid_set_seq BIGINT,
        closed_by INTEGER,
        created_seq BIGINT NOT NULL,
        expired_seq BIGINT,
        FOREIGN KEY(dataset_id) REFERENCES gb_datasets (id) ON DELETE CASCADE,
        FOREIGN KEY(source_id) REFERENCES gb_entities (id) ON DELETE CASCADE,
        FOREIGN KEY(target_id) REFERENCES gb_entities (id) ON DELETE CASCADE,
        FOREIGN KEY(artifact_id) REFERENCES gb_artifacts (id) ON DELETE SET NULL
    """,
}

_INDEXES_OF_REBUILT = (
    "CREATE INDEX gb_artifacts_session ON gb_artifacts (dataset_id, session_id, id)",
    "CREATE INDEX gb_entities_recent ON gb_entities (dataset_id, updated_at, id)",
    "CREATE INDEX gb_edges_source ON gb_edges (dataset_id, source_id, created_at, id)",
    "CREATE INDEX gb_edges_target ON gb_edges (dataset_id, target_id, created_at, id)",
    "CREATE INDEX gb_edges_closed_by ON gb_edges (dataset_id, closed_by)",
    "CREATE INDEX gb_edges_seq ON gb_edges (dataset_id, created_seq)",
    "CREATE UNIQUE INDEX gb_edges_one_open ON gb_edges (dataset_id, source_id, target_id, relation)"
    " WHERE expired_at IS NULL AND invalid_at IS NULL",
)

_ALTERED_INSTEAD = (
    "ALTER TABLE gb_datasets ADD COLUMN vector_generation INTEGER DEFAULT '0' NOT NULL",
    "ALTER TABLE gb_datasets ADD COLUMN forgotten_id BIGINT DEFAULT '0' NOT NULL",
    "ALTER TABLE gb_datasets DROP CONSTRAINT gb_datasets_user_id_name_key",
    "ALTER TABLE gb_datasets ADD UNIQUE (user_id, name, forgotten_id)",
    "ALTER TABLE gb_artifacts ADD COLUMN text_key TEXT",
    "ALTER TABLE gb_artifacts ADD COLUMN index_name VARCHAR",
    "ALTER TABLE gb_artifacts ADD COLUMN run_id BIGINT",
    "ALTER TABLE gb_artifacts ADD COLUMN parent_id BIGINT REFERENCES gb_artifacts (id) ON DELETE CASCADE",
    "ALTER TABLE gb_artifacts ADD COLUMN chunk_index INTEGER",
    "ALTER TABLE gb_artifacts ADD COLUMN start_offset INTEGER",
    "ALTER TABLE gb_artifacts ADD COLUMN end_offset INTEGER",
    "ALTER TABLE gb_artifacts ADD COLUMN tokens INTEGER",
    "ALTER TABLE gb_artifacts ADD COLUMN overlap_tokens INTEGER",
    "ALTER TABLE gb_artifacts ADD COLUMN model_id VARCHAR",
    "ALTER TABLE gb_artifacts ADD COLUMN inference_id BIGINT",
    "ALTER TABLE gb_artifacts ADD COLUMN speaker VARCHAR",
    "ALTER TABLE gb_artifacts ADD COLUMN external_id VARCHAR",
)

_CHANGED = (
    "CREATE INDEX gb_artifacts_parent ON gb_artifacts (dataset_id, parent_id, chunk_index)",
    "CREATE INDEX gb_artifacts_run ON gb_artifacts (run_id)",
    "CREATE UNIQUE INDEX gb_artifacts_external ON gb_artifacts (dataset_id, external_id)",
    "ALTER TABLE gb_edge_versions ADD COLUMN valid_at_source VARCHAR",
    "ALTER TABLE gb_edge_versions ADD COLUMN invalid_at_source VARCHAR",
    "ALTER TABLE gb_edge_versions ADD COLUMN closed_by {id}",
    "CREATE INDEX gb_edge_versions_closed_by ON gb_edge_versions (dataset_id, closed_by)",
    "ALTER TABLE gb_edge_artifacts ADD COLUMN states_end BOOLEAN DEFAULT {false} NOT NULL",
    # Which of its artifacts stated an end was not kept: with all of them, none takes it away by being forgotten.
    "UPDATE gb_edge_artifacts SET states_end = {true}"
    " WHERE edge_id IN (SELECT id FROM gb_edges WHERE invalid_at_source = 'stated')",
    "ALTER TABLE gb_remember_runs ADD COLUMN idempotency_key VARCHAR",
    "ALTER TABLE gb_remember_runs ADD COLUMN request_sha256 VARCHAR",
    "ALTER TABLE gb_remember_runs ADD COLUMN outcome JSON",
    "CREATE UNIQUE INDEX gb_remember_runs_key ON gb_remember_runs (user_id, dataset, idempotency_key)",
    "CREATE INDEX gb_inferences_time ON gb_inferences (created_at)",
    "ALTER TABLE gb_commits ADD COLUMN invalidated JSON",
    "CREATE INDEX gb_commits_run ON gb_commits (run_id)",
    "ALTER TABLE gb_vector_outbox ADD COLUMN op VARCHAR DEFAULT 'upsert' NOT NULL",
)

_NEW = (
    """CREATE TABLE gb_aliases (
        former_id {id} NOT NULL PRIMARY KEY,
        dataset_id {id} NOT NULL,
        name VARCHAR NOT NULL,
        name_key VARCHAR NOT NULL,
        type VARCHAR NOT NULL,
        entity_id {id} NOT NULL,
        created_at {time} NOT NULL,
        FOREIGN KEY(dataset_id) REFERENCES gb_datasets (id) ON DELETE CASCADE,
        FOREIGN KEY(entity_id) REFERENCES gb_entities (id) ON DELETE CASCADE
    )""",
    "CREATE INDEX gb_aliases_name ON gb_aliases (dataset_id, name_key)",
    "CREATE INDEX gb_aliases_entity ON gb_aliases (entity_id)",
    """CREATE TABLE gb_images (
        artifact_id {id} NOT NULL PRIMARY KEY,
        dataset_id {id} NOT NULL,
        sha256 VARCHAR NOT NULL,
        media_type VARCHAR NOT NULL,
        width INTEGER NOT NULL,
        height INTEGER NOT NULL,
        bytes INTEGER NOT NULL,
        theme VARCHAR NOT NULL,
        title TEXT NOT NULL,
        blocks JSON NOT NULL,
        language VARCHAR,
        content {blob},
        UNIQUE (dataset_id, sha256),
        FOREIGN KEY(artifact_id) REFERENCES gb_artifacts (id) ON DELETE CASCADE,
        FOREIGN KEY(dataset_id) REFERENCES gb_datasets (id) ON DELETE CASCADE
    )""",
    """CREATE TABLE gb_artifact_sessions (
        artifact_id {id} NOT NULL,
        session_id VARCHAR NOT NULL,
        dataset_id {id} NOT NULL,
        first_seen_at {time} NOT NULL,
        PRIMARY KEY (artifact_id, session_id),
        FOREIGN KEY(artifact_id) REFERENCES gb_artifacts (id) ON DELETE CASCADE,
        FOREIGN KEY(dataset_id) REFERENCES gb_datasets (id) ON DELETE CASCADE
    )""",
    "CREATE INDEX gb_artifact_sessions_session ON gb_artifact_sessions (dataset_id, session_id)",
    """CREATE TABLE gb_jobs (
        run_id {id} NOT NULL PRIMARY KEY,
        user_id VARCHAR NOT NULL,
        dataset VARCHAR NOT NULL,
        request JSON,
        running BOOLEAN NOT NULL,
        owner VARCHAR NOT NULL,
        lease_until {time} NOT NULL,
        created_at {time} NOT NULL,
        FOREIGN KEY(run_id) REFERENCES gb_remember_runs (id) ON DELETE CASCADE
    )""",
    "CREATE INDEX gb_jobs_dataset ON gb_jobs (user_id, dataset, run_id)",
    "CREATE UNIQUE INDEX gb_jobs_one_running ON gb_jobs (user_id, dataset) WHERE running",
    """CREATE TABLE gb_tombstones (
        id {key},
        user_id VARCHAR NOT NULL,
        dataset VARCHAR,
        dataset_id {id},
        action VARCHAR NOT NULL,
        scope VARCHAR NOT NULL,
        target VARCHAR,
        counts JSON NOT NULL,
        removed JSON NOT NULL,
        content {blob},
        seq BIGINT,
        created_at {time} NOT NULL,
        undo_until {time},
        undone_at {time},
        purged_at {time}
    )""",
    "CREATE INDEX gb_tombstones_user ON gb_tombstones (user_id, id)",
    "CREATE INDEX gb_tombstones_dataset ON gb_tombstones (dataset_id, id)",
    """CREATE TABLE gb_events (
        id {key},
        created_at {time} NOT NULL,
        user_id VARCHAR NOT NULL,
        event JSON NOT NULL
    )""",
)
