"""Which properties hold the names of records."""

from __future__ import annotations

import re

from core.describe.prefixes import local_name
from core.rdf.vocabulary import RDFS, SKOS

# The best first: these are the names of a record in every vocabulary.
LABELS = (
    f"{RDFS}label",
    f"{SKOS}prefLabel",
    "https://schema.org/name",
    "http://schema.org/name",
)
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_NAMES = frozenset(("name", "names", "label", "labels", "title"))
# What is named, but not the record: the name of a file, of a user's account, of a data type.
_OF_OTHERS = frozenset(
    ("file", "user", "type", "class", "property", "column", "field", "host", "domain", "path", "job")
)


def is_name(iri: str) -> bool:
    """Whether the property's local name is a name, a label or a title: name, legalName, alt_label, title, but not
    fileName or jobTitle."""
    if iri in LABELS:
        return True
    parts = [part.lower() for part in _PART.findall(local_name(iri))]
    return bool(parts) and parts[-1] in _NAMES and not _OF_OTHERS.intersection(parts[:-1])
