"""What each row says as triples, each a line of N-Triples. The vocabulary is docs/rdf.md."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from json.encoder import encode_basestring
from urllib.parse import quote

from core.rdf.vocabulary import GB, RDF, RDFS, SKOS, XSD
from storage.rdf.changes import ArtifactRow, EntityRow, FactRow, QuadRow

_ALIAS = f"<{SKOS}altLabel>"
_TYPE, _REIFIES = f"<{RDF}type>", f"<{RDF}reifies>"
_LABEL = f"<{RDFS}label>"
_DATE_TIME = f'"^^<{XSD}dateTime>'
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Projection:
    """Spells the rows of a dataset whose IRIs begin with `base`."""

    def __init__(self, base: str) -> None:
        self.base = base
        self._names = _Quoted()
        self._times = _Times()

    def entity(self, id_: int, row: EntityRow) -> str:
        """Its type, its label and, if it has them, its description and its other names."""
        subject = f"<{self.base}entity/{id_}>"
        lines = (
            f"{subject} {_TYPE} <{self.base}type/{self._names[row.type]}> .\n"
            f"{subject} {_LABEL} {encode_basestring(row.name)} .\n"
        )
        if row.description:
            lines += f"{subject} <{GB}description> {encode_basestring(row.description)} .\n"
        for alias in row.aliases:
            lines += f"{subject} {_ALIAS} {encode_basestring(alias)} .\n"
        return lines

    def type_(self, name: str) -> str:
        """The class of all entities of a type."""
        return self._named(f"<{self.base}type/{self._names[name]}>", f"<{RDFS}Class>", name)

    def relation(self, name: str) -> str:
        """The property that facts of a relation state."""
        return self._named(f"<{self.base}relation/{self._names[name]}>", f"<{RDF}Property>", name)

    def _named(self, subject: str, of: str, name: str) -> str:
        label = encode_basestring(name.replace("_", " "))
        return f"{subject} {_TYPE} {of} .\n{subject} {_LABEL} {label} .\n"

    def triple(self, row: FactRow) -> str:
        """A fact as a direct triple."""
        base = self.base
        relation = self._names[row.relation]
        return f"<{base}entity/{row.source_id}> <{base}relation/{relation}> <{base}entity/{row.target_id}> .\n"

    def fact(self, id_: int, row: FactRow) -> str:
        """A fact as a node, with its times and where it came from."""
        base, times, node = self.base, self._times, f"<{self.base}edge/{id_}>"
        source, target = f"<{base}entity/{row.source_id}>", f"<{base}entity/{row.target_id}>"
        relation = f"<{base}relation/{self._names[row.relation]}>"
        # One text for what each fact has: there may be very many.
        lines = (
            f"{node} {_TYPE} <{GB}Fact> .\n{node} {_REIFIES} <<( {source} {relation} {target} )>> .\n"
            f"{node} <{GB}subject> {source} .\n{node} <{GB}predicate> {relation} .\n{node} <{GB}object> {target} .\n"
            f"{node} <{GB}validAt> {times[row.valid_at]} .\n{node} <{GB}createdAt> {times[row.created_at]} .\n"
        )
        if row.invalid_at is not None:
            lines += f"{node} <{GB}invalidAt> {times[row.invalid_at]} .\n"
        if row.expired_at is not None:
            lines += f"{node} <{GB}expiredAt> {times[row.expired_at]} .\n"
        if row.description:
            lines += f"{node} <{GB}description> {encode_basestring(row.description)} .\n"
        if row.artifact_id is not None:
            lines += f"{node} <{GB}artifact> <{base}artifact/{row.artifact_id}> .\n"
        for artifact_id in row.artifacts:
            lines += f"{node} <{GB}statedIn> <{base}artifact/{artifact_id}> .\n"
        for session in row.sessions:
            lines += f"{node} <{GB}session> {encode_basestring(session)} .\n"
        return lines

    def artifact(self, id_: int, row: ArtifactRow) -> str:
        """A source of facts, with the beginning of its text."""
        node = f"<{self.base}artifact/{id_}>"
        said = [
            (_TYPE, f"<{GB}Artifact>"),
            (f"<{GB}kind>", encode_basestring(row.kind)),
            (f"<{GB}validAt>", self._times[row.valid_at]),
            (f"<{GB}createdAt>", self._times[row.created_at]),
        ]
        if row.parent_id is not None:
            said.append((f"<{GB}partOf>", f"<{self.base}artifact/{row.parent_id}>"))
        for name, text in (("session", row.session_id), ("speaker", row.speaker), ("text", row.beginning)):
            if text:
                said.append((f"<{GB}{name}>", encode_basestring(text)))
        return "".join([f"{node} {name} {value} .\n" for name, value in said])


def loaded(row: QuadRow) -> str:
    """A loaded triple in the default graph and, where it has one, in the graph of its name."""
    triple = f"{row.subject} {row.predicate} {row.object}"
    return f"{triple} .\n{triple} {row.graph} .\n" if row.graph else f"{triple} .\n"


class _Quoted(dict[str, str]):
    """Names of types and relations as IRIs spell them: there are few, each on many rows."""

    def __missing__(self, name: str) -> str:
        self[name] = quoted = quote(name, safe="")
        return quoted


class _Times(dict[int, str]):
    """Moments as literals: what one commit wrote has one of them."""

    def __missing__(self, microseconds: int) -> str:
        moment = (_EPOCH + timedelta(microseconds=microseconds)).isoformat().removesuffix("+00:00")
        self[microseconds] = shown = f'"{moment}Z{_DATE_TIME}'
        return shown
