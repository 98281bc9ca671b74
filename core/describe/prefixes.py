"""Short names for IRIs: a prefix for each namespace that a graph uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from core.rdf.vocabulary import WELL_KNOWN, prefixes_of

# Of namespaces that are not known by a name, at most so many get one: a graph may have one for each record.
MAX_DERIVED = 40

# Locals that are written the same in SPARQL and Turtle, without an escape.
_LOCAL = re.compile(r"[A-Za-z0-9_](?:[\w-]|%[0-9A-Fa-f]{2}|\.(?=[\w-]))*", re.ASCII)
_NOT_IN_A_PREFIX = re.compile(r"[^a-z0-9_-]+")


def namespace_of(iri: str) -> str:
    """The IRI up to its last `#`, `/` or `:`."""
    return iri[: 1 + max(iri.rfind("#"), iri.rfind("/"), iri.rfind(":"))]


def local_name(iri: str) -> str:
    """The rest of the IRI behind its namespace."""
    return iri[len(namespace_of(iri)) :]


def known_prefixes(base: str, namespaces: Iterable[str]) -> dict[str, str]:
    """Prefix to namespace: the well-known ones, those of what was remembered under `base`, and one for each further
    namespace, in this order: its last path segment (https://x.test/class/ is `class`), numbered where two would have
    the same."""
    known = {**WELL_KNOWN, **prefixes_of(base)}
    named = set(known.values())
    for namespace in namespaces:
        if len(known) >= len(WELL_KNOWN) + MAX_DERIVED:
            break
        if namespace and namespace not in named:
            known[_free(_spoken(namespace), known)] = namespace
            named.add(namespace)
    return known


def _spoken(namespace: str) -> str:
    """The last part of a namespace that begins with a letter: of its path, else of its host."""
    parts = urlsplit(namespace)
    path = [part for part in re.split(r"[/#:]", parts.path + "/" + parts.fragment) if part]
    hosts = [part for part in (parts.hostname or "").split(".")[:-1] if part != "www"]
    for part in (*reversed(path), *reversed(hosts)):
        name = _NOT_IN_A_PREFIX.sub("-", part.lower()).strip("-")
        if name[:1].isalpha():
            return name
    return "ns"


def _free(name: str, known: Mapping[str, str]) -> str:
    number = 2
    free = name
    while free in known:
        free = f"{name}{number}"
        number += 1
    return free


class ShortNames:
    """IRIs as `prefix:local`, where a prefix is known and the local name needs no escape, else as `<IRI>`."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self._prefixes = {namespace: prefix for prefix, namespace in prefixes.items()}
        self.used: dict[str, str] = {}
        """The prefixes of the names given so far."""

    def __call__(self, iri: str) -> str:
        namespace = namespace_of(iri)
        prefix = self._prefixes.get(namespace)
        local = iri[len(namespace) :]
        if prefix is None or not _LOCAL.fullmatch(local):
            return f"<{iri}>"
        self.used[prefix] = namespace
        return f"{prefix}:{local}"
