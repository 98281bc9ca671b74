"""Backup and restore of a SQLite memory: the database and its vectors in one zip file.

The database is a snapshot of one moment. Each vector table is read as it stands a little later; what was written in
between is left out of it, and made again from the text after a restore. A restore writes the vectors beside those that
are there, in a generation of their own, and only then puts the database in its place: one rename does it all.
"""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, cast

from core.doctor import BackupManifest
from core.errors import InvalidRequest, NewerDatabase
from storage.migrations import VERSION, copy_file, free_name
from storage.texts import is_of_embedding, version_of
from storage.vectors import LanceIndex, Place, VectorRow, place_of, table_name

FORMAT = "gligabao backup"
FORMAT_VERSION = 1
DATABASE = "gligabao.db"
MANIFEST = "manifest.json"
ROWS = 512  # vectors written at once
_COUNTED = ("gb_datasets", "gb_artifacts", "gb_entities", "gb_edges", "gb_commits")


def back_up(database: Path, index: LanceIndex, target: Path) -> BackupManifest:
    """Writes the backup of a SQLite file that others may be using; the file is there whole, or not at all.

    Raises InvalidRequest when the target is there already or can't be written.
    """
    if target.exists():
        raise InvalidRequest(f"file: {target} is there already", param="file")
    partial = target.with_name(f"{target.name}.partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600))
        with tempfile.TemporaryDirectory(dir=target.absolute().parent, prefix=".gligabao-") as folder:
            copy = Path(folder) / DATABASE
            copy_file(database, copy)
            manifest = _write(partial, copy, index)
        os.replace(partial, target)
    except (OSError, sqlite3.Error) as failure:
        raise InvalidRequest(f"file: {target} could not be written ({failure})", param="file") from failure
    finally:
        partial.unlink(missing_ok=True)
    return manifest


def _write(partial: Path, copy: Path, index: LanceIndex) -> BackupManifest:
    with closing(sqlite3.connect(copy)) as connection, zipfile.ZipFile(partial, "w", allowZip64=True) as file:
        file.write(copy, DATABASE, zipfile.ZIP_DEFLATED)
        vectors: dict[str, int] = {}
        for dataset_id, generation, head in _datasets(connection):
            for place in index.places():
                if is_of_embedding(place.index_name):
                    continue  # made again after a restore, from the records
                if (place.dataset_id, place.generation) == (dataset_id, generation):
                    name = table_name(dataset_id, place.index_name)
                    with file.open(f"vectors/{name}.arrow", "w", force_zip64=True) as stream:
                        vectors[name] = _write_table(stream, index.rows(*_key(place)), head)
        manifest = BackupManifest(
            format=FORMAT,
            format_version=FORMAT_VERSION,
            schema_version=_schema_version(connection),
            program=_program(),
            created_at=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
            counts=_counts(connection),
            vectors=vectors,
        )
        file.writestr(MANIFEST, json.dumps(asdict(manifest), indent=2))
        return manifest


def _key(place: Place) -> tuple[int, str, int]:
    return place.dataset_id, place.index_name, place.generation


def _write_table(stream: Any, batches: Iterator[Any], head: int) -> int:
    """The rows of a table as an Arrow stream, without what was written after the snapshot of the database."""
    pa = import_module("pyarrow")
    writer, rows = None, 0
    for batch in batches:
        kept = batch.filter(import_module("pyarrow.compute").less_equal(batch["seq"], head))
        writer = writer or pa.ipc.new_stream(stream, kept.schema)
        writer.write_batch(kept)
        rows += kept.num_rows
    if writer is not None:
        writer.close()
    return rows


def _datasets(connection: sqlite3.Connection) -> list[tuple[int, int, int]]:
    return connection.execute("SELECT id, vector_generation, head_seq FROM gb_datasets ORDER BY id").fetchall()


def _counts(connection: sqlite3.Connection) -> dict[str, int]:
    return {name: connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in _COUNTED}


def _schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT version FROM gb_schema").fetchone()[0])


def _program() -> str:
    try:
        return version("gligabao-mcp")
    except PackageNotFoundError:
        return "unknown"


# Restore ------------------------------------------------------------------------------------------------------------


def restore(source: Path, database: Path, index: LanceIndex, *, force: bool) -> tuple[BackupManifest, Path | None]:
    """Puts the memory of a backup in the place of the database; what it held, and where the old file is kept.

    Nothing is changed unless the backup is whole. Raises InvalidRequest for one that is not, for a database that
    another process has open, and without `force` for one that holds anything; NewerDatabase for a backup that a later
    release wrote.
    """
    with _opened(source) as file:
        manifest = _checked_manifest(file)
        database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=database.parent, prefix=".gligabao-") as folder:
            fresh = Path(folder) / DATABASE
            _extract(file, fresh, manifest)
            _refuse_if_used(database, force=force)
            generations = _new_generations(fresh, index)
            _empty_embeddings(fresh, index)
            _restore_vectors(file, manifest, index, generations)
            kept = _put_in_place(fresh, database)
    return manifest, kept


def _opened(source: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(source)
    except (OSError, zipfile.BadZipFile) as failure:
        raise InvalidRequest(f"file: {source} can't be read as a backup ({failure})", param="file") from failure


def _checked_manifest(file: zipfile.ZipFile) -> BackupManifest:
    try:
        read = cast("dict[str, Any]", json.loads(file.read(MANIFEST)))
        manifest = BackupManifest(**read)
        broken = file.testzip()
    except (KeyError, TypeError, ValueError, OSError, zipfile.BadZipFile, EOFError) as failure:
        raise InvalidRequest("file: is not a backup that gligabao wrote, or is damaged", param="file") from failure
    if manifest.format != FORMAT:
        raise InvalidRequest("file: is not a backup that gligabao wrote", param="file")
    if broken:
        raise InvalidRequest(f"file: the backup is damaged at {broken}", param="file")
    if manifest.format_version > FORMAT_VERSION or manifest.schema_version > VERSION:
        raise NewerDatabase(
            f"the backup has schema version {manifest.schema_version}, this release reads up to {VERSION}: "
            "update gligabao-mcp"
        )
    return manifest


def _extract(file: zipfile.ZipFile, fresh: Path, manifest: BackupManifest) -> None:
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        with file.open(DATABASE) as packed, fresh.open("wb") as target:
            while block := packed.read(1 << 20):
                target.write(block)
        with closing(sqlite3.connect(fresh)) as connection:
            sound = connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)]
            sound = sound and not connection.execute("PRAGMA foreign_key_check").fetchall()
            sound = sound and _counts(connection) == dict(manifest.counts)
    except (KeyError, OSError, sqlite3.Error, zipfile.BadZipFile) as failure:
        raise InvalidRequest(f"file: its database can't be read ({type(failure).__name__})", param="file") from failure
    if not sound:
        raise InvalidRequest(
            "file: its database is damaged or is not the one that the manifest describes", param="file"
        )


def _refuse_if_used(database: Path, *, force: bool) -> None:
    """SQLite leaves the mode that several processes can use only for one that has the file to itself: with that, what
    stood in the log is in the file too."""
    if not database.exists():
        return
    try:
        with closing(sqlite3.connect(database, timeout=1.0, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
            held = _holds_anything(connection)
    except sqlite3.OperationalError as failure:
        raise InvalidRequest(
            f"db: {database} is in use: end every gligabao that has it open, then restore", param="db"
        ) from failure
    except sqlite3.DatabaseError:
        held = True  # damaged: to put a backup in its place is what restore is for
    if held and not force:
        raise InvalidRequest(f"force: {database} is not empty; with --force the backup takes its place", param="force")


def _holds_anything(connection: sqlite3.Connection) -> bool:
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'gb_datasets'").fetchone()
    return bool(there and connection.execute("SELECT 1 FROM gb_datasets LIMIT 1").fetchone())


def _new_generations(fresh: Path, index: LanceIndex) -> dict[int, int]:
    """Moves every dataset of the new database to a generation that no table in the index has."""
    taken: dict[int, int] = {}
    for place in index.places():
        taken[place.dataset_id] = max(place.generation + 1, taken.get(place.dataset_id, 0))
    with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(gb_datasets)")]
        if "vector_generation" not in columns:
            return {}
        chosen = {i: max(g, taken.get(i, 0)) for i, g, _ in _datasets(connection)}
        connection.executemany(
            "UPDATE gb_datasets SET vector_generation = ? WHERE id = ?", [(g, i) for i, g in chosen.items()]
        )
        return chosen


def _empty_embeddings(fresh: Path, index: LanceIndex) -> None:
    """Moves every embedding of the new database to a version that no table in the index has, without entries: they are
    made again from the records."""
    taken = max([0, *(version_of(place.index_name) for place in index.places() if is_of_embedding(place.index_name))])
    with closing(sqlite3.connect(fresh, isolation_level=None)) as connection:
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'gb_embeddings'").fetchone():
            connection.execute("DELETE FROM gb_embedding_entries")
            connection.execute("DELETE FROM gb_vector_outbox WHERE index_name LIKE 'embedding-%'")
            connection.execute(
                "UPDATE gb_embeddings SET version = max(version, ?) + 1, embedded_seq = NULL, owner = NULL", (taken,)
            )


def _restore_vectors(
    file: zipfile.ZipFile, manifest: BackupManifest, index: LanceIndex, generations: Mapping[int, int]
) -> None:
    pa = import_module("pyarrow")
    for name, rows in manifest.vectors.items():
        place = place_of(name)
        if place is None or place.dataset_id not in generations or not rows:
            continue
        with file.open(f"vectors/{name}.arrow") as stream:
            for batch in pa.ipc.open_stream(stream):
                for part in _parts(batch):
                    index.upsert(place.dataset_id, place.index_name, part, generations[place.dataset_id])
    index.tidy()


def _parts(batch: Any) -> Iterable[list[VectorRow]]:
    for start in range(0, batch.num_rows, ROWS):
        part = batch.slice(start, ROWS)
        dim = part["vector"].type.list_size
        raw = part["vector"].flatten().to_numpy().astype("<f4").tobytes()
        ids, texts, seqs = (part[name].to_pylist() for name in ("ref_id", "text", "seq"))
        yield [
            VectorRow(ref_id, text, seq, raw[n * dim * 4 : (n + 1) * dim * 4])
            for n, (ref_id, text, seq) in enumerate(zip(ids, texts, seqs, strict=True))
        ]


def _put_in_place(fresh: Path, database: Path) -> Path | None:
    """The new file under the name of the old one, which gets another; at every moment there is a whole file."""
    kept = free_name(database.with_name(f"{database.name}.before-restore")) if database.exists() else None
    if kept is not None:
        try:
            os.link(database, kept)
        except OSError:  # a file system without hard links
            copy_whole(database, kept)
    os.replace(fresh, database)
    for tail in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            database.with_name(f"{database.name}{tail}").unlink()
    return kept


def copy_whole(source: Path, target: Path) -> None:
    """A copy of a file that nobody uses."""
    os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    target.write_bytes(source.read_bytes())
