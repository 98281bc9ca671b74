"""Schema version 3, from version 2: the step of a released schema, frozen. It never reads tables.py, which moves on."""

from __future__ import annotations

from sqlalchemy.engine import Connection

_TOKENS = {
    "sqlite": """
        CREATE TABLE gb_tokens (
            id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
            digest VARCHAR NOT NULL UNIQUE,
            user_id VARCHAR NOT NULL,
            scopes VARCHAR NOT NULL,
            name VARCHAR,
            created_at VARCHAR(27) NOT NULL,
            expires_at VARCHAR(27),
            revoked_at VARCHAR(27)
        )
    """,
    "postgresql": """
        CREATE TABLE gb_tokens (
            id BIGSERIAL NOT NULL PRIMARY KEY,
            digest VARCHAR NOT NULL UNIQUE,
            user_id VARCHAR NOT NULL,
            scopes VARCHAR NOT NULL,
            name VARCHAR,
            created_at TIMESTAMP WITH TIME ZONE NOT NULL,
            expires_at TIMESTAMP WITH TIME ZONE,
            revoked_at TIMESTAMP WITH TIME ZONE
        )
    """,
}


def to_version_3(connection: Connection) -> None:
    """Where the session of an artifact was read, and tokens."""
    connection.exec_driver_sql("ALTER TABLE gb_artifacts ADD COLUMN session_source VARCHAR")
    connection.exec_driver_sql(_TOKENS[connection.dialect.name])
