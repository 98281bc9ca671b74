"""search:similarTo in a query: found in its text, cut out, and answered by a table in its place."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, cast

from core.embeddings.ports import Near
from core.errors import InvalidRequest
from core.rdf.vocabulary import SEARCH
from core.sparql.shape import shape_of
from core.sparql.statements import Cut, Piece, QueryText, without

MAX_TOP = 1_000
USUAL_TOP = 10
MAX_WORDS = 8_000
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_TERMS = {"similarTo", "score", "top", "embedding"}


@dataclass(frozen=True, slots=True)
class Target:
    """What is searched near to, one of these: words, a record, or a vector."""

    words: str = ""
    iri: str = ""
    vector: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Similar:
    """A search by meaning inside a query, for the `top` records that are nearest to its target.

    `prologue` are the PREFIX lines, `head` is what stands before the main group, `group` the inside of that without the
    search, `tail` what comes behind. `score` is the variable of the similarity, where it is asked for.
    """

    variable: str
    target: Target
    top: int
    prologue: str
    head: str
    group: str
    tail: str
    score: str | None
    embedding: str | None

    def bound(self, hits: Sequence[Near]) -> str:
        """The query with these hits as the rows of a table."""
        return f"{self.prologue}{self.head}{{ {self._table(hits)} {self.group}}}{self.tail}"

    def surviving(self, hits: Sequence[Near]) -> str:
        """A query for those of the hits that are in the graph and that the rest of the main group lets through."""
        is_there = f"FILTER EXISTS {{ ?{self.variable} ?searchProperty ?searchValue }}"
        rest = f"{self._table(hits)} {self.group} {is_there}"
        return f"{self.prologue}SELECT DISTINCT ?{self.variable} WHERE {{ {rest} }}"

    def allowed(self) -> str | None:
        """A query for all records that the rest of the main group lets through; None where that asks for the score, or
        for nothing."""
        asks_for_score = self.score and re.search(rf"[?$]{self.score}\b", self.group)
        if asks_for_score or not self.group.strip():
            return None
        return f"{self.prologue}SELECT DISTINCT ?{self.variable} WHERE {{ {self.group} }}"

    def _table(self, hits: Sequence[Near]) -> str:
        if self.score is None:
            return f"VALUES ?{self.variable} {{ {' '.join(f'<{hit.iri}>' for hit in hits)} }}"
        rows = " ".join(f"(<{hit.iri}> {hit.score:.6e})" for hit in hits)
        return f"VALUES (?{self.variable} ?{self.score}) {{ {rows} }}"


def _refuse(why: str) -> NoReturn:
    raise InvalidRequest(f"query: {why}", param="query")


def similar_in(text: str) -> Similar | None:
    """The search that a query holds, whose prefixes are declared; None where it holds none.

    Raises InvalidRequest (param `query`) for one that stands elsewhere than in the main group, for more than one, and
    for what can't be searched for.
    """
    query = QueryText(text)
    terms = sum(bool(_term(query, piece)) for piece in query.pieces)
    return _read(query, terms) if terms else None


def _term(query: QueryText, piece: Piece) -> str:
    """The name of a term of the vocabulary of searching; empty for anything else."""
    iri = query.iri(piece.token)
    return iri.removeprefix(SEARCH) if iri.startswith(SEARCH) else ""


def _read(query: QueryText, terms: int) -> Similar:
    body = query.behind_prologue()
    first = query.main_group(body)
    last = query.match(first)
    stated: dict[str, Sequence[Piece]] = {}
    subjects: set[str] = set()
    cuts: list[Cut] = []
    for statement in query.statements(first + 1, last):
        found = {entry: name for entry in statement.entries if (name := _term(query, query.pieces[entry.start]))}
        for entry, name in found.items():
            if name in stated:
                _refuse(f"search:{name} may stand in a query once")
            stated[name] = query.pieces[entry.start + 1 : entry.end]
        if found:
            subjects.add(query.slice(statement.start, statement.entries[0].start))
            cuts.append(query.cut(statement, list(found)))
    if len(stated) != terms or len(subjects) != 1 or "similarTo" not in stated:
        _refuse(
            "search:similarTo and what belongs to it stand in the main group, about one variable: not in OPTIONAL, "
            "UNION, MINUS, FILTER or a subquery"
        )
    if unknown := sorted(stated.keys() - _TERMS):
        _refuse(f"search:{unknown[0]} is not served; there are search:similarTo, score, top and embedding")
    variable = subjects.pop()
    if not re.fullmatch(r"[?$]\w+", variable):
        _refuse("search:similarTo is asked of a variable")
    at, start, end = query.pieces[body].start, query.pieces[first], query.pieces[last]
    return Similar(
        variable=variable[1:],
        target=_target(query, stated["similarTo"]),
        prologue=query.text[:at],
        head=query.text[at : start.start],
        group=without(query.text, start.end, end.start, cuts),
        tail=query.text[end.end :],
        top=_top(query.text, stated.get("top")),
        score=_score(stated.get("score")),
        embedding=_embedding(stated.get("embedding")),
    )


def _target(query: QueryText, pieces: Sequence[Piece]) -> Target:
    if len(pieces) == 1 and (iri := query.iri(pieces[0].token)):
        return Target(iri=iri)
    words = _string(pieces)
    if words is None:
        _refuse("search:similarTo takes one text, the IRI of a record, or a vector such as '[0.1, 0.2]'")
    if vector := _vector(words):
        return Target(vector=vector)
    if not words.strip() or len(words) > MAX_WORDS:
        _refuse(f"search:similarTo takes a text of 1 to {MAX_WORDS:,} characters")
    return Target(words=words)


def _top(text: str, pieces: Sequence[Piece] | None) -> int:
    if pieces is None:
        shape = shape_of(text)
        return USUAL_TOP if shape.limit is None else min(MAX_TOP, max(1, shape.limit + (shape.offset or 0)))
    number = pieces[0].token.text if len(pieces) == 1 else ""
    if not number.isdecimal() or len(number) > len(str(MAX_TOP)) or not 1 <= int(number) <= MAX_TOP:
        _refuse(f"search:top is 1 to {MAX_TOP:,}")
    return int(number)


def _score(pieces: Sequence[Piece] | None) -> str | None:
    if pieces is not None and [piece.token.kind for piece in pieces] != ["variable"]:
        _refuse("search:score is bound to a variable")
    return pieces[0].token.text[1:] if pieces else None


def _embedding(pieces: Sequence[Piece] | None) -> str | None:
    name = None if pieces is None else _string(pieces)
    if pieces is not None and name is None:
        _refuse("search:embedding is the name of an embedding, as a text")
    return name


def _string(pieces: Sequence[Piece]) -> str | None:
    """The text of a literal, whatever its language or datatype; None for anything else."""
    first, *others = [*pieces, None]
    is_one = all(piece is None or (piece.token.kind != "string" and piece.token.text != ",") for piece in others)
    return _unescaped(first.token.text) if first and first.token.kind == "string" and is_one else None


def _unescaped(string: str) -> str:
    quotes = 3 if string[:3] in ('"""', "'''") and len(string) >= 6 else 1
    return _ESCAPE.sub(_character, string[quotes:-quotes])


def _character(escape: re.Match[str]) -> str:
    if escape[3]:
        return _ESCAPED.get(escape[3], escape[3])
    code = int(escape[1] or escape[2], 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def _vector(words: str) -> tuple[float, ...]:
    """The numbers of a text that is a list of numbers; none for any other."""
    if not words.startswith("["):
        return ()
    try:
        listed: object = json.loads(words)
    except (ValueError, RecursionError):
        return ()
    numbers = cast("list[object]", listed)
    if not isinstance(listed, list) or any(type(number) not in (int, float) for number in numbers):
        return ()
    return tuple(_float(cast("float", number)) for number in numbers)


def _float(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf
