"""Short ways to load triples and to see which are there."""

from __future__ import annotations

import hashlib
import io
import threading
from typing import Any

from core.core import Core
from core.graphs.import_rdf import ImportRdfRequest, ImportRdfResponse, import_rdf
from core.graphs.update import UpdateRequest, UpdateResponse, update
from core.uploads import Upload
from storage.graph import SqlGraph
from storage.rdf.rows import whole_at


async def load(core: Core, text: str | bytes, **more: Any) -> ImportRdfResponse:
    content = text.encode() if isinstance(text, str) else text
    upload = Upload(io.BytesIO(content), hashlib.sha256(content).hexdigest())
    return await import_rdf(core, ImportRdfRequest.model_validate({"user_id": "u1", "content": upload, **more}))


async def change(core: Core, text: str, **more: Any) -> UpdateResponse:
    return await update(core, UpdateRequest.model_validate({"user_id": "u1", "update": text, **more}))


async def triples(core: Core, dataset: str = "main", seq: int | None = None) -> set[str]:
    """The triples that were loaded, as N-Quads, without the point."""
    found = await core.graph.dataset("u1", dataset)
    assert found is not None and isinstance(core.graph, SqlGraph)
    rows = await core.graph.database.read(lambda connection: whole_at(connection, found.id, seq, facts=False))
    return {" ".join(filter(None, quad)) for quad in rows.quads.values() if quad is not None}


async def head(core: Core, dataset: str = "main") -> int:
    found = await core.graph.dataset("u1", dataset)
    return found.head_seq if found else 0


class Endless(io.RawIOBase):
    """N-Triples without an end."""

    def __init__(self) -> None:
        super().__init__()
        self.is_read = threading.Event()
        self._lines = 0

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return 0

    def read(self, size: int = -1, /) -> bytes:
        if self.closed:
            raise ValueError("the file is closed")
        self.is_read.set()
        self._lines += 1
        return f'<http://a.test/{self._lines}> <http://a.test/is> "there" .\n'.encode()
