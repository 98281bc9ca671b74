"""The addresses of what is stored: gligabao://{dataset}/artifacts/{id} and the like, names percent-encoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mcp.shared.uri_template import UriTemplate

from core.text import clean

Kind = Literal["artifact", "entity", "session"]

DATASETS = "gligabao://datasets"
TEMPLATES: Mapping[Kind, UriTemplate] = {
    "artifact": UriTemplate.parse("gligabao://{dataset}/artifacts/{id}"),
    "entity": UriTemplate.parse("gligabao://{dataset}/entities/{id}"),
    "session": UriTemplate.parse("gligabao://{dataset}/sessions/{id}"),
}


@dataclass(frozen=True, slots=True)
class Address:
    """What a URI names. `id` is that of a row or a session, or the name of an entity."""

    kind: Kind
    dataset: str
    id: str


def uri_of(kind: Kind, dataset: str, id: int | str) -> str:
    """The URI of a row or a session.

    >>> uri_of("session", "my data", "chat/1")
    'gligabao://my%20data/sessions/chat%2F1'
    """
    return TEMPLATES[kind].expand({"dataset": dataset, "id": str(id)})


def read_uri(uri: str) -> Address | None:
    """What the URI names; None where it is none of ours.

    >>> read_uri("gligabao://my%20data/sessions/chat%2F1")
    Address(kind='session', dataset='my data', id='chat/1')
    """
    for kind, template in TEMPLATES.items():
        if (found := template.match(uri)) and all(map(_names_something, found.values())):
            return Address(kind, str(found["dataset"]), str(found["id"]))
    return None


def _names_something(part: object) -> bool:
    """Whether a request takes the part as it is. One that is empty, or is once it is cleaned, would count as not given:
    another dataset would be read, or all of a list."""
    return bool(part) and clean(part)[0] == part


def is_row(stated: str) -> bool:
    """Whether what stands for an entity is its id; else it is a name."""
    return stated.isascii() and stated.isdecimal()
