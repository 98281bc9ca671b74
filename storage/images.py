"""Images in SQL: one row for each beside its artifact, found by the digest of its bytes."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from core.errors import Stale
from core.images import Block, Image, ImageReading, KnownImage, ReadImage
from storage import tables as t

_I, _A = t.images.c, t.artifacts.c
_KNOWN = (
    sa.select(t.images, _A.run_id, _A.session_id, _A.valid_at, _A.created_at)
    .join(t.artifacts, _A.id == _I.artifact_id)
    .where(_I.dataset_id == sa.bindparam("dataset"), _I.sha256 == sa.bindparam("digest"))
)


def known_image(connection: Connection, dataset_id: int, sha256: str) -> KnownImage | None:
    """The image of that digest, with what was read from it."""
    row = connection.execute(_KNOWN, {"dataset": dataset_id, "digest": sha256}).one_or_none()
    if row is None:
        return None
    image = Image(row.sha256, row.media_type, row.width, row.height, row.bytes, row.content)
    blocks = tuple(Block(block["text"], block["role"]) for block in row.blocks)
    reading = ImageReading(row.theme, row.title, blocks, row.language or "")
    return KnownImage(
        int(row.artifact_id), row.run_id, row.session_id, row.valid_at, row.created_at, ReadImage(image, reading)
    )


def insert_image(connection: Connection, dataset_id: int, artifact_id: int, read: ReadImage) -> None:
    """The row of an image. Raises Stale where the dataset, whose row is held, has one of the same bytes."""
    image, reading = read.image, read.reading
    same = sa.select(_I.artifact_id).where(_I.dataset_id == dataset_id, _I.sha256 == image.sha256)
    if connection.execute(same).first():
        raise Stale("the same image was told meanwhile")
    row = {
        "artifact_id": artifact_id,
        "dataset_id": dataset_id,
        "sha256": image.sha256,
        "media_type": image.media_type,
        "width": image.width,
        "height": image.height,
        "bytes": image.size,
        "theme": reading.theme,
        "title": reading.title,
        "blocks": [{"text": block.text, "role": block.role} for block in reading.blocks],
        "language": reading.language or None,
        "content": image.content,
    }
    connection.execute(sa.insert(t.images), [row])
