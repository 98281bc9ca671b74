"""GraphML: entities as nodes, facts as directed edges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from io import StringIO
from xml.sax.saxutils import XMLGenerator
from xml.sax.xmlreader import AttributesImpl

from core.export.rows import EdgeRow, EntityRow, Snapshot

_NODE = ("name", "type", "description", "model_id", "created_at", "updated_at")
_EDGE = ("relation", "description", "valid_at", "invalid_at", "created_at", "expired_at", "artifact_id", "model_id")
# What XML 1.0 can't hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_graphml(snapshot: Snapshot) -> Iterator[str]:
    """One GraphML document; its last tag is written last. Nulls are left out, and characters that XML forbids."""
    page = _Page()
    yield page.opening(snapshot.header.dataset)
    for entities in snapshot.rows("entities"):
        yield page.nodes(entities)
    for edges in snapshot.rows("edges"):
        yield page.edges(edges)
    yield page.closing()


class _Page:
    """The document as it is written; each call returns what it added."""

    def __init__(self) -> None:
        self._buffer = StringIO()
        self._xml = XMLGenerator(self._buffer, "utf-8", short_empty_elements=True)

    def _written(self) -> str:
        text = self._buffer.getvalue()
        self._buffer.seek(0)
        self._buffer.truncate()
        return text

    def _open(self, tag: str, attributes: dict[str, str]) -> None:
        self._xml.startElement(tag, AttributesImpl(attributes))

    def opening(self, dataset: str) -> str:
        self._xml.startDocument()
        self._open("graphml", {"xmlns": "http://graphml.graphdrawing.org/xmlns"})
        for domain, names in (("node", _NODE), ("edge", _EDGE)):
            for name in names:
                kind = "long" if name == "artifact_id" else "string"
                key = {"id": f"{domain}_{name}", "for": domain, "attr.name": name, "attr.type": kind}
                self._open("key", key)
                self._xml.endElement("key")
        self._open("graph", {"id": _allowed(dataset), "edgedefault": "directed"})
        return self._written()

    def nodes(self, rows: Sequence[EntityRow]) -> str:
        for row in rows:
            self._xml.characters("\n")
            self._open("node", {"id": f"n{row.id}"})
            self._data(row, "node", _NODE)
            self._xml.endElement("node")
        return self._written()

    def edges(self, rows: Sequence[EdgeRow]) -> str:
        for row in rows:
            self._xml.characters("\n")
            ends = {"source": f"n{row.source_id}", "target": f"n{row.target_id}"}
            self._open("edge", {"id": f"e{row.id}", **ends})
            self._data(row, "edge", _EDGE)
            self._xml.endElement("edge")
        return self._written()

    def _data(self, row: EntityRow | EdgeRow, domain: str, names: Sequence[str]) -> None:
        for name in names:
            value = getattr(row, name)
            if value is not None and value != "":
                self._open("data", {"key": f"{domain}_{name}"})
                # A bare carriage return would come back as a line feed.
                self._xml.characters(_allowed(str(value)).replace("\r\n", "\n").replace("\r", "\n"))
                self._xml.endElement("data")

    def closing(self) -> str:
        self._xml.characters("\n")
        self._xml.endElement("graph")
        self._xml.endElement("graphml")
        self._xml.endDocument()
        return self._written() + "\n"


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub("", text)
