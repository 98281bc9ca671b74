"""Every gb_ table, in one place, the same on SQLite and PostgreSQL.

Times are UTC: TIMESTAMPTZ on PostgreSQL, fixed-width RFC 3339 text on SQLite, so that they sort. Ids are BIGINT, and
the id of a row that was purged never comes again: somebody may still hold it. Every table of a dataset leads its
indexes with dataset_id. A change here needs its step in migrations.py.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator, TypeEngine

metadata = sa.MetaData()

Id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class Time(TypeDecorator[datetime]):
    """An aware datetime in UTC, with microseconds."""

    impl = sa.String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        native = dialect.name == "postgresql"
        return dialect.type_descriptor(sa.TIMESTAMP(timezone=True) if native else sa.String(27))

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | str | None:
        if value is None or dialect.name == "postgresql":
            return value
        # Not strftime, which pads no year on some systems and takes longer: a remember binds some hundred times.
        return f"{value.astimezone(UTC).isoformat(timespec='microseconds').removesuffix('+00:00')}Z"

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        moment = value if isinstance(value, datetime) else datetime.fromisoformat(value)
        return moment.astimezone(UTC)


def _dataset() -> sa.Column[int]:
    return sa.Column("dataset_id", Id, sa.ForeignKey("gb_datasets.id", ondelete="CASCADE"), nullable=False)


def _link(name: str, target: str) -> sa.Column[int]:
    return sa.Column(name, Id, sa.ForeignKey(target, ondelete="CASCADE"), nullable=False)


schema = sa.Table(
    "gb_schema",
    metadata,
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("min_reader_version", sa.Integer, nullable=False),
    sa.Column("created_at", Time, nullable=False),
)

datasets = sa.Table(
    "gb_datasets",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("user_id", sa.String, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("embedding_model", sa.String),
    sa.Column("embedding_dim", sa.Integer),
    sa.Column("head_seq", sa.BigInteger, nullable=False),
    sa.Column("head_at", Time),
    # Which tables of the vector index are read and written; reindex builds the next ones beside them.
    sa.Column("vector_generation", sa.Integer, nullable=False, server_default="0"),
    # The tombstone that hides the whole dataset, 0 for none: its name is free for a new one meanwhile.
    sa.Column("forgotten_id", Id, nullable=False, server_default="0"),
    sa.Column("created_at", Time, nullable=False),
    sa.UniqueConstraint("user_id", "name", "forgotten_id"),
    sqlite_autoincrement=True,
)

artifacts = sa.Table(
    "gb_artifacts",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _dataset(),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    # The text as words are looked for in it; null where its chunks are searched instead.
    sa.Column("text_key", sa.Text),
    # The vector index that its text belongs into: chunks, summaries or, for a text that is found by its facts, none.
    sa.Column("index_name", sa.String),
    sa.Column("session_id", sa.String),
    # Where the session id was read: core.requests.SessionSource.
    sa.Column("session_source", sa.String),
    sa.Column("valid_at", Time, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("run_id", Id),
    sa.Column("parent_id", Id, sa.ForeignKey("gb_artifacts.id", ondelete="CASCADE")),
    # Of a chunk: its place in the text of its parent, in code points, end exclusive.
    sa.Column("chunk_index", sa.Integer),
    sa.Column("start_offset", sa.Integer),
    sa.Column("end_offset", sa.Integer),
    sa.Column("tokens", sa.Integer),
    sa.Column("overlap_tokens", sa.Integer),
    # Who wrote a text that nobody told us: a summary, what was read from an image.
    sa.Column("model_id", sa.String),
    sa.Column("inference_id", Id),
    # Of a message: who said it, and the id that its sender knows it by.
    sa.Column("speaker", sa.String),
    sa.Column("external_id", sa.String),
    sa.Index("gb_artifacts_session", "dataset_id", "session_id", "id"),
    sa.Index("gb_artifacts_parent", "dataset_id", "parent_id", "chunk_index"),
    sa.Index("gb_artifacts_run", "run_id"),
    sa.Index("gb_artifacts_external", "dataset_id", "external_id", unique=True),
    sqlite_autoincrement=True,
)

images = sa.Table(
    "gb_images",
    metadata,
    sa.Column("artifact_id", Id, sa.ForeignKey("gb_artifacts.id", ondelete="CASCADE"), primary_key=True),
    _dataset(),
    sa.Column("sha256", sa.String, nullable=False),
    sa.Column("media_type", sa.String, nullable=False),
    sa.Column("width", sa.Integer, nullable=False),
    sa.Column("height", sa.Integer, nullable=False),
    sa.Column("bytes", sa.Integer, nullable=False),
    sa.Column("theme", sa.String, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("blocks", sa.JSON, nullable=False),
    sa.Column("language", sa.String),
    sa.Column("content", sa.LargeBinary),
    sa.UniqueConstraint("dataset_id", "sha256"),
)

entities = sa.Table(
    "gb_entities",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _dataset(),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("name_key", sa.String, nullable=False),
    sa.Column("type", sa.String, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("desc_key", sa.Text, nullable=False),
    sa.Column("model_id", sa.String),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("updated_at", Time, nullable=False),
    sa.Column("created_seq", sa.BigInteger, nullable=False),
    sa.Column("text_seq", sa.BigInteger, nullable=False),
    sa.UniqueConstraint("dataset_id", "name_key", "type"),
    sa.Index("gb_entities_recent", "dataset_id", "updated_at", "id"),
    sqlite_autoincrement=True,
)

# The names of entities that were merged into others: a text that says one of them means the other. former_id is the id
# that the merged one had.
aliases = sa.Table(
    "gb_aliases",
    metadata,
    sa.Column("former_id", Id, primary_key=True, autoincrement=False),
    _dataset(),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("name_key", sa.String, nullable=False),
    sa.Column("type", sa.String, nullable=False),
    _link("entity_id", "gb_entities.id"),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("gb_aliases_name", "dataset_id", "name_key"),
    sa.Index("gb_aliases_entity", "entity_id"),
)

# What a row said before it was changed, for reading at an earlier time; changed_at is when that ended.
entity_versions = sa.Table(
    "gb_entity_versions",
    metadata,
    _link("entity_id", "gb_entities.id"),
    sa.Column("seq", sa.BigInteger, nullable=False),
    _dataset(),
    sa.Column("changed_at", Time, nullable=False),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("type", sa.String, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.PrimaryKeyConstraint("entity_id", "seq"),
    sa.Index("gb_entity_versions_seq", "dataset_id", "seq"),
)

edges = sa.Table(
    "gb_edges",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _dataset(),
    _link("source_id", "gb_entities.id"),
    _link("target_id", "gb_entities.id"),
    sa.Column("relation", sa.String, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    sa.Column("artifact_id", Id, sa.ForeignKey("gb_artifacts.id", ondelete="SET NULL")),
    sa.Column("model_id", sa.String),
    sa.Column("valid_at", Time, nullable=False),
    sa.Column("invalid_at", Time),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("expired_at", Time),
    sa.Column("valid_at_source", sa.String, nullable=False),
    sa.Column("invalid_at_source", sa.String),
    sa.Column("valid_precision", sa.String, nullable=False),
    sa.Column("invalid_precision", sa.String),
    sa.Column("invalid_set_at", Time),
    sa.Column("invalid_set_seq", sa.BigInteger),
    sa.Column("closed_by", Id),
    sa.Column("created_seq", sa.BigInteger, nullable=False),
    sa.Column("expired_seq", sa.BigInteger),
    sa.Index("gb_edges_source", "dataset_id", "source_id", "created_at", "id"),
    sa.Index("gb_edges_target", "dataset_id", "target_id", "created_at", "id"),
    sa.Index("gb_edges_closed_by", "dataset_id", "closed_by"),
    sa.Index("gb_edges_seq", "dataset_id", "created_seq"),
    sqlite_autoincrement=True,
)
# Two processes can never both store the same fact as still true.
sa.Index(
    "gb_edges_one_open",
    edges.c.dataset_id,
    edges.c.source_id,
    edges.c.target_id,
    edges.c.relation,
    unique=True,
    sqlite_where=sa.and_(edges.c.expired_at.is_(None), edges.c.invalid_at.is_(None)),
    postgresql_where=sa.and_(edges.c.expired_at.is_(None), edges.c.invalid_at.is_(None)),
)

edge_versions = sa.Table(
    "gb_edge_versions",
    metadata,
    _link("edge_id", "gb_edges.id"),
    sa.Column("seq", sa.BigInteger, nullable=False),
    _dataset(),
    sa.Column("changed_at", Time, nullable=False),
    sa.Column("valid_at", Time, nullable=False),
    sa.Column("invalid_at", Time),
    sa.Column("expired_at", Time),
    # Where those times came from; null for versions that were kept before there was such a column.
    sa.Column("valid_at_source", sa.String),
    sa.Column("invalid_at_source", sa.String),
    sa.Column("closed_by", Id),
    sa.PrimaryKeyConstraint("edge_id", "seq"),
    sa.Index("gb_edge_versions_closed_by", "dataset_id", "closed_by"),
)


def _provenance(kind: str, *more: sa.Column[Any]) -> sa.Table:
    return sa.Table(
        f"gb_{kind}_artifacts",
        metadata,
        _link(f"{kind}_id", f"gb_{'entities' if kind == 'entity' else 'edges'}.id"),
        _link("artifact_id", "gb_artifacts.id"),
        _dataset(),
        sa.Column("seq", sa.BigInteger, nullable=False),
        *more,
        sa.PrimaryKeyConstraint(f"{kind}_id", "artifact_id"),
        sa.Index(f"gb_{kind}_artifacts_artifact", "artifact_id"),
    )


def _sessions(kind: str, rows: str) -> sa.Table:
    return sa.Table(
        f"gb_{kind}_sessions",
        metadata,
        _link(f"{kind}_id", f"{rows}.id"),
        sa.Column("session_id", sa.String, nullable=False),
        _dataset(),
        sa.Column("first_seen_at", Time, nullable=False),
        sa.PrimaryKeyConstraint(f"{kind}_id", "session_id"),
        sa.Index(f"gb_{kind}_sessions_session", "dataset_id", "session_id"),
    )


entity_artifacts = _provenance("entity")
# states_end: the artifact says when the fact ended, not only that it was so.
edge_artifacts = _provenance("edge", sa.Column("states_end", sa.Boolean, nullable=False, server_default=sa.false()))
entity_sessions = _sessions("entity", "gb_entities")
edge_sessions = _sessions("edge", "gb_edges")
# The sessions that told an image again; the one that told it first stands in its artifact.
artifact_sessions = _sessions("artifact", "gb_artifacts")

models = sa.Table(
    "gb_models",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("provider", sa.String, nullable=False),
    sa.Column("first_seen_at", Time, nullable=False),
)

inferences = sa.Table(
    "gb_inferences",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("user_id", sa.String, nullable=False),
    sa.Column("dataset", sa.String, nullable=False),
    sa.Column("session_id", sa.String),
    sa.Column("run_id", Id),
    sa.Column("type", sa.String, nullable=False),
    sa.Column("stage", sa.String, nullable=False),
    sa.Column("provider", sa.String, nullable=False),
    sa.Column("model", sa.String, nullable=False),
    sa.Column("requested_model", sa.String, nullable=False),
    sa.Column("reasoning", sa.String, nullable=False),
    sa.Column("input_tokens", sa.BigInteger, nullable=False),
    sa.Column("cached_input_tokens", sa.BigInteger, nullable=False),
    sa.Column("cache_write_tokens", sa.BigInteger, nullable=False),
    sa.Column("output_tokens", sa.BigInteger, nullable=False),
    sa.Column("thinking_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost_usd", sa.Double, nullable=False),
    sa.Column("latency_ms", sa.BigInteger, nullable=False),
    sa.Column("stop_reason", sa.String, nullable=False),
    sa.Column("request_id", sa.String, nullable=False),
    sa.Column("prompt_hash", sa.String, nullable=False),
    sa.Column("error", sa.Text),
    sa.Index("gb_inferences_user", "user_id", "dataset", "created_at"),
    sa.Index("gb_inferences_run", "run_id"),
    sa.Index("gb_inferences_time", "created_at"),
)

runs = sa.Table(
    "gb_remember_runs",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("user_id", sa.String, nullable=False),
    sa.Column("dataset", sa.String, nullable=False),
    sa.Column("session_id", sa.String),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("parameters", sa.JSON, nullable=False),
    sa.Column("artifact_id", Id),
    sa.Column("error", sa.Text),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("finished_at", Time),
    sa.Column("owner", sa.String, nullable=False),
    # A caller's name for the call, and the SHA-256 of its request: sent again, it joins this run.
    sa.Column("idempotency_key", sa.String),
    sa.Column("request_sha256", sa.String),
    # What the response of a run that succeeded said besides the rows that it stored: warnings, vectors, known messages.
    sa.Column("outcome", sa.JSON(none_as_null=True)),
    sa.Index("gb_remember_runs_user", "user_id", "dataset", "id"),
    sa.Index("gb_remember_runs_status", "status", "id"),
    sa.Index("gb_remember_runs_key", "user_id", "dataset", "idempotency_key", unique=True),
)

# The runs that wait for their turn or have it, in the order of their ids: one at a time for each dataset. The row goes
# with the end of the run. A durable one holds its request, for whoever finds it after a crash.
jobs = sa.Table(
    "gb_jobs",
    metadata,
    sa.Column("run_id", Id, sa.ForeignKey("gb_remember_runs.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("user_id", sa.String, nullable=False),
    sa.Column("dataset", sa.String, nullable=False),
    sa.Column("request", sa.JSON(none_as_null=True)),
    sa.Column("running", sa.Boolean, nullable=False),
    sa.Column("owner", sa.String, nullable=False),
    sa.Column("lease_until", Time, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("gb_jobs_dataset", "user_id", "dataset", "run_id"),
)
# Two processes can never both have the turn of a dataset.
sa.Index(
    "gb_jobs_one_running",
    jobs.c.user_id,
    jobs.c.dataset,
    unique=True,
    sqlite_where=jobs.c.running,
    postgresql_where=jobs.c.running,
)

run_stages = sa.Table(
    "gb_remember_run_stages",
    metadata,
    _link("run_id", "gb_remember_runs.id"),
    sa.Column("stage", sa.String, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("started_at", Time, nullable=False),
    sa.Column("finished_at", Time),
    sa.Column("error", sa.Text),
    sa.Column("inference_ids", sa.JSON, nullable=False),
    sa.PrimaryKeyConstraint("run_id", "stage"),
)

commits = sa.Table(
    "gb_commits",
    metadata,
    _dataset(),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("run_id", Id),
    sa.Column("artifact_id", Id),
    sa.Column("session_id", sa.String),
    sa.Column("counts", sa.JSON, nullable=False),
    sa.Column("invalidated", sa.JSON),
    # What wrote it: remember, forget, undo, merge, import, load, update and so on; null for those before version 4.
    sa.Column("kind", sa.String),
    # The ids of the entities, edges and artifacts that it added, changed or took away; null: it may have been any.
    sa.Column("touched", sa.JSON(none_as_null=True)),
    sa.Column("created_at", Time, nullable=False),
    sa.PrimaryKeyConstraint("dataset_id", "seq"),
    sa.Index("gb_commits_run", "run_id"),
    sa.Index("gb_commits_time", "dataset_id", "created_at"),
)

# What was forgotten, or merged, and can be undone: the rows as they were, compressed JSON. A purged one keeps what was
# removed, how much and when, and nothing of its content.
tombstones = sa.Table(
    "gb_tombstones",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("user_id", sa.String, nullable=False),
    sa.Column("dataset", sa.String),
    sa.Column("dataset_id", Id),
    sa.Column("action", sa.String, nullable=False),
    sa.Column("scope", sa.String, nullable=False),
    sa.Column("target", sa.String),
    sa.Column("counts", sa.JSON, nullable=False),
    # Which ids it took away, and which facts those had been closed by: no content.
    sa.Column("removed", sa.JSON, nullable=False),
    sa.Column("content", sa.LargeBinary),
    sa.Column("seq", sa.BigInteger),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("undo_until", Time),
    sa.Column("undone_at", Time),
    sa.Column("purged_at", Time),
    sa.Index("gb_tombstones_user", "user_id", "id"),
    sa.Index("gb_tombstones_dataset", "dataset_id", "id"),
    sqlite_autoincrement=True,
)

# One row per call, the last ten thousand of them. No texts.
events = sa.Table(
    "gb_events",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("user_id", sa.String, nullable=False),
    sa.Column("event", sa.JSON, nullable=False),
    sqlite_autoincrement=True,
)

# A vector waits here, its bytes with it, from the transaction that stored its row until the index has it (op upsert),
# or the order to take one out of the index (op delete). One without bytes waits for an embedder that fits the dataset.
vector_outbox = sa.Table(
    "gb_vector_outbox",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _dataset(),
    sa.Column("index_name", sa.String, nullable=False),
    sa.Column("ref_id", Id, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("vector", sa.LargeBinary),
    sa.Column("op", sa.String, nullable=False, server_default="upsert"),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("owner", sa.String),
    sa.Column("lease_until", Time),
    sa.Column("tries", sa.Integer, nullable=False),
    sa.Column("last_error", sa.Text),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("gb_vector_outbox_dataset", "dataset_id", "id"),
    sqlite_autoincrement=True,
)

# Who may call, where the doors ask for tokens. A token itself is kept by nobody: digest is its SHA-256.
tokens = sa.Table(
    "gb_tokens",
    metadata,
    sa.Column("id", Id, primary_key=True),
    sa.Column("digest", sa.String, nullable=False, unique=True),
    sa.Column("user_id", sa.String, nullable=False),
    # Some of read, write and admin, sorted, with a blank between them.
    sa.Column("scopes", sa.String, nullable=False),
    sa.Column("name", sa.String),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("expires_at", Time),
    sa.Column("revoked_at", Time),
    sqlite_autoincrement=True,
)

# Triples that were loaded as RDF, each term as N-Triples writes it. graph is empty for the default graph. A triple that
# was taken away keeps its row, for reading at an earlier commit. digest is the SHA-256 of the four terms.
quads = sa.Table(
    "gb_quads",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _dataset(),
    sa.Column("digest", sa.LargeBinary, nullable=False),
    sa.Column("subject", sa.Text, nullable=False),
    sa.Column("predicate", sa.Text, nullable=False),
    sa.Column("object", sa.Text, nullable=False),
    sa.Column("graph", sa.Text, nullable=False),
    sa.Column("created_seq", sa.BigInteger, nullable=False),
    sa.Column("removed_seq", sa.BigInteger),
    sa.Index("gb_quads_created", "dataset_id", "created_seq"),
    sa.Index("gb_quads_removed", "dataset_id", "removed_seq"),
    sqlite_autoincrement=True,
)
sa.Index(
    "gb_quads_one_there",
    quads.c.dataset_id,
    quads.c.digest,
    unique=True,
    sqlite_where=quads.c.removed_seq.is_(None),
    postgresql_where=quads.c.removed_seq.is_(None),
)

# A write that its caller gave a name to: sent again with the same content, it is answered with the same response.
idempotent_writes = sa.Table(
    "gb_idempotent_writes",
    metadata,
    sa.Column("user_id", sa.String, nullable=False),
    sa.Column("dataset", sa.String, nullable=False),
    sa.Column("idempotency_key", sa.String, nullable=False),
    sa.Column("request_sha256", sa.String, nullable=False),
    sa.Column("response", sa.JSON, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.PrimaryKeyConstraint("user_id", "dataset", "idempotency_key"),
    sa.Index("gb_idempotent_writes_time", "created_at"),
)

# How many questions were asked on each UTC day, YYYY-MM-DD, by all processes of the database.
question_days = sa.Table(
    "gb_question_days",
    metadata,
    sa.Column("day", sa.String, primary_key=True),
    sa.Column("asked", sa.Integer, nullable=False),
)

# What holds for every question of a graph. examples: objects of question, sparql and note.
profiles = sa.Table(
    "gb_profiles",
    metadata,
    sa.Column(
        "dataset_id", Id, sa.ForeignKey("gb_datasets.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("notes", sa.Text, nullable=False),
    sa.Column("examples", sa.JSON, nullable=False),
    sa.Column("updated_at", Time, nullable=False),
)

# Answered questions and what people said of the answers; body is the trace as it is shown.
eval_traces = sa.Table(
    "gb_eval_traces",
    metadata,
    sa.Column("id", sa.String, primary_key=True),
    _dataset(),
    sa.Column("labeled", sa.Boolean, nullable=False),
    sa.Column("body", sa.JSON, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("gb_eval_traces_time", "dataset_id", "created_at"),
)

# Labelled questions that answers are checked against; body is the golden as it is shown.
goldens = sa.Table(
    "gb_goldens",
    metadata,
    sa.Column("id", sa.String, nullable=False),
    _dataset(),
    sa.Column("body", sa.JSON, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.PrimaryKeyConstraint("dataset_id", "id"),
)

# One row for each dataset that has goldens or settings: version counts the changes of its goldens.
eval_suites = sa.Table(
    "gb_eval_suites",
    metadata,
    sa.Column(
        "dataset_id", Id, sa.ForeignKey("gb_datasets.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("settings", sa.JSON, nullable=False),
)

# runner is empty for runs of the server itself.
eval_results = sa.Table(
    "gb_eval_results",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _dataset(),
    sa.Column("runner", sa.String, nullable=False),
    sa.Column("body", sa.JSON, nullable=False),
    sa.Column("created_at", Time, nullable=False),
    sa.Index("gb_eval_results_runner", "dataset_id", "runner", "id"),
    sqlite_autoincrement=True,
)

# Classes whose records can be searched by meaning. recipe: what the text of a record is made of. embedded_seq: up to
# which commit its entries are there. usage: what embedding them took. One process at a time, the owner, embeds for it.
embeddings = sa.Table(
    "gb_embeddings",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _dataset(),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("class_iri", sa.Text, nullable=False),
    sa.Column("recipe", sa.JSON, nullable=False),
    sa.Column("model", sa.String, nullable=False),
    sa.Column("dim", sa.Integer, nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("embedded_seq", sa.BigInteger),
    sa.Column("usage", sa.JSON, nullable=False),
    sa.Column("owner", sa.String),
    sa.Column("lease_until", Time),
    sa.Column("created_at", Time, nullable=False),
    sa.Column("updated_at", Time, nullable=False),
    sa.UniqueConstraint("dataset_id", "name"),
    sqlite_autoincrement=True,
)

# The records of an embedding, each with the SHA-256 of the text that its vector was made of.
embedding_entries = sa.Table(
    "gb_embedding_entries",
    metadata,
    sa.Column("id", Id, primary_key=True),
    _dataset(),
    _link("embedding_id", "gb_embeddings.id"),
    sa.Column("iri", sa.Text, nullable=False),
    sa.Column("text_sha256", sa.String, nullable=False),
    sa.UniqueConstraint("embedding_id", "iri"),
    sqlite_autoincrement=True,
)
