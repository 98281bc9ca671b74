"""The gate: which queries run, and with which prefixes. It refuses what would write, fetch or reach out of the graph
before the engine sees it; the engine runs without a network behind it (storage/rdf/child.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

from core.errors import InvalidRequest
from core.rdf.tokens import Token, iri_in, is_read, tokens
from core.rdf.vocabulary import GB, RDF

MAX_QUERY = 20_000

Form = Literal["SELECT", "ASK"]

# The terms that only fact nodes and artifacts have.
_TERMS = (
    "Artifact Fact artifact createdAt expiredAt invalidAt kind object partOf predicate session speaker statedIn "
    "subject text validAt"
)
OF_FACTS = frozenset(f"{GB}{name}" for name in _TERMS.split()) | {f"{RDF}reifies"}
_OTHER_FORMS = {
    "construct": "CONSTRUCT",
    "describe": "DESCRIBE",
    **dict.fromkeys(
        ("insert", "delete", "load", "clear", "create", "drop", "copy", "move", "add", "with"), "an update"
    ),
}
_OPERANDS = ("iri", "string", "blank", "variable", "language", "name", "number", "word")
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Checked:
    """A query that only reads, whole with its PREFIX lines. `facts`: it names the vocabulary of fact nodes."""

    text: str
    form: Form
    facts: bool = False


def checked(text: str, prefixes: Mapping[str, str]) -> Checked:
    """The query, with a PREFIX line for each prefix of `prefixes` that it uses and does not declare.

    Raises InvalidRequest (param `query`) for every form but SELECT and ASK, for SERVICE and FROM, for a prefix that is
    nowhere declared, and for more than 20,000 characters.
    """
    if len(text) > MAX_QUERY:
        _refuse(f"at most {MAX_QUERY:,} characters")
    pieces = tokens(text)
    read = [token for token in pieces if is_read(token)]
    if read and read[-1].kind == "unclosed":
        _refuse("a string that begins with three quotes has no end")
    declared, body = _prologue(read)
    form = _form(body)
    _refuse_service(body)
    _refuse_from(body)
    missing = _undeclared(read, declared, prefixes)
    known = {**prefixes, **declared}
    lines = "".join(f"PREFIX {prefix}: <{prefixes[prefix]}>\n" for prefix in missing)
    return Checked(lines + "".join(_unambiguous(pieces)), form, _names_facts(body, known))


def without_prefixes(text: str) -> str:
    """The query in one line without its PREFIX and BASE lines and comments, for a person to read."""
    pieces = tokens(text)
    _, body = _prologue([token for token in pieces if is_read(token)])
    first = next((at for at, token in enumerate(pieces) if body and token is body[0]), 0)
    shown = " ".join("".join(" " if token.kind == "comment" else token.text for token in pieces[first:]).split())
    return shown


def _refuse(why: str) -> NoReturn:
    raise InvalidRequest(f"query: {why}", param="query")


# The parts of a query -------------------------------------------------------------------------------------------------


def _prologue(read: Sequence[Token]) -> tuple[dict[str, str], Sequence[Token]]:
    """The prefixes that a query declares itself, with their IRIs, and what comes behind its prologue."""
    declared: dict[str, str] = {}
    at = 0
    while at < len(read):
        keyword = read[at].folded if read[at].kind == "word" else ""
        if keyword == "prefix" and at + 2 < len(read):
            declared[read[at + 1].prefix] = iri_in(read[at + 2])
            at += 3
        elif keyword in ("base", "version"):
            at += 2
        else:
            break
    return declared, read[at:]


def _form(body: Sequence[Token]) -> Form:
    keyword = body[0].folded if body and body[0].kind == "word" else ""
    # The engine wants no space between words.
    for form in ("SELECT", "ASK"):
        if keyword.startswith(form.casefold()):
            return form
    if other := next((shown for word, shown in _OTHER_FORMS.items() if keyword.startswith(word)), None):
        _refuse(f"only SELECT and ASK are answered, {other} is not")
    _refuse("must be a SPARQL query that begins with SELECT or ASK, behind its PREFIX lines")


def _refuse_service(body: Sequence[Token]) -> None:
    """The engine wants no space behind the word: what begins like a prefixed name may be SERVICE and a name."""
    for before, token, behind in _neighbours(body):
        is_glued = token.kind == "name" and "service" in token.prefix.casefold() and behind == "{" and before != "graph"
        if is_glued or (token.kind == "word" and "service" in token.folded):
            _refuse("SERVICE is not answered: a query reads this graph and nothing else")


def _neighbours(body: Sequence[Token]) -> Iterator[tuple[str, Token, str]]:
    texts = ["", *(token.folded for token in body), ""]
    return zip(texts, body, texts[2:], strict=False)


def _refuse_from(body: Sequence[Token]) -> None:
    """Nothing but FROM names a graph between the form and the first brace."""
    depth = 0
    for token in body[1:]:
        if token.text == "{":
            return
        depth += {"(": 1, ")": -1}.get(token.text, 0)
        if depth == 0 and (token.kind in ("iri", "name") or (token.kind == "word" and "from" in token.folded)):
            _refuse("FROM is not answered: loaded graphs are part of the graph, and GRAPH reads one of them")


# Names ----------------------------------------------------------------------------------------------------------------


def _undeclared(read: Iterable[Token], declared: Mapping[str, str], known: Mapping[str, str]) -> list[str]:
    """The known prefixes that it uses and does not declare, in the order of their first use."""
    used = dict.fromkeys(token.prefix for token in read if token.kind == "name")
    missing = [prefix for prefix in used if prefix not in declared]
    if unknown := [f"{prefix[:40]}:" for prefix in missing if prefix not in known][:_NAMED]:
        _refuse(f"no PREFIX line declares {', '.join(unknown)}; the known ones are {', '.join(sorted(known))}")
    return missing


def _names_facts(body: Iterable[Token], known: Mapping[str, str]) -> bool:
    """Whether it names what only fact nodes and artifacts have, one of them, or triples as terms."""
    base = known.get("entity", "").removesuffix("entity/")
    nodes = (f"{base}edge/", f"{base}artifact/") if base else ()
    before = ""
    for token in body:
        if token.kind == "iri" or token.kind == "name":
            iri = iri_in(token) if token.kind == "iri" else f"{known[token.prefix]}{token.text.partition(':')[2]}"
            if iri.rstrip(".") in OF_FACTS or (nodes and iri.startswith(nodes)):
                return True
        if before + token.text in ("<<", "{|"):
            return True
        before = token.text
    return False


def _unambiguous(pieces: Iterable[Token]) -> Iterator[str]:
    """The text, so that it has one reading. Behind an operand within parentheses the engine may take what looks like an
    IRI for a comparison: a comment or a string would begin inside it, and hide or show what follows."""
    depth, before = 0, ""
    for token in pieces:
        if token.kind == "iri" and depth and (before in _OPERANDS or before == ")"):
            yield token.text.replace("#", "\\u0023").replace("'", "\\u0027")
        else:
            yield token.text
        if token.kind == "sign":
            depth += {"(": 1, ")": -1}.get(token.text, 0)
        if is_read(token):
            before = token.text if token.kind == "sign" else token.kind
