"""What a SPARQL text is made of, as the engine reads it: words in strings, IRIs and comments are no words."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, cast

TokenKind = Literal[
    "space", "comment", "iri", "string", "unclosed", "blank", "variable", "language", "name", "number", "word", "sign"
]


class Token(NamedTuple):
    """A piece of a text. `name` is a prefixed one, `word` a keyword or a function, `sign` a single character. A string
    that has no end takes the rest of its line: the engine reads no such text. One in three quotes that has no end is
    `unclosed` and takes the rest of the text: readers differ in what it says."""

    kind: TokenKind
    text: str

    @property
    def folded(self) -> str:
        """The text in lower case, as keywords are compared."""
        return self.text.casefold()

    @property
    def prefix(self) -> str:
        """What stands before the colon of a prefixed name."""
        return self.text.partition(":")[0]


# Long strings come before short ones, and names before words. Where a class is wider than the grammar, the engine
# refuses the text; where `<` begins no IRI it is a sign. No text takes longer than its length: what can't match gives
# nothing back (the possessive `+`).
_PIECE = re.compile(
    r"""
    (?P<space>[\x20\t\r\n]+)
  | (?P<comment>\#[^\r\n]*)
  | (?P<iri><[^\x00-\x20<>"{}|^`]*>)
  | (?P<string>\"{3}(?:[^"\\]|\\.|\"{1,2}(?!\"))*+\"{3} | '{3}(?:[^'\\]|\\.|'{1,2}(?!'))*+'{3}
      | (?!\"{3}|'{3})(?:"(?:[^"\\\r\n]|\\.)*+" | '(?:[^'\\\r\n]|\\.)*+' | ["'][^\r\n]*+))
  | (?P<unclosed>["']{3}.*+)
  | (?P<blank>_:[\w.\-]*)
  | (?P<variable>[?$]\w+)
  | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9]+)*(?:--[A-Za-z]+)?)
  | (?P<name>(?:[^\W\d_][\w\-.]{0,100}+)?:(?![\-.])(?:[\w:%\-.]|\\[_~.\-!$&'()*+,;=/?\#@%])*)
  | (?P<number>(?:\d+(?:\.\d*)?+|\.\d+)[eE][+\-]?\d+|\d*+\.\d+|\d+)
  | (?P<word>[^\W\d]\w*)
  | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_SKIPPED = ("space", "comment")


def tokens(text: str) -> list[Token]:
    """All pieces of a text, in order: together they are the text."""
    return [Token(cast("TokenKind", found.lastgroup), found.group()) for found in _PIECE.finditer(text)]


def is_read(token: Token) -> bool:
    """Whether it says something: no white space and no comment."""
    return token.kind not in _SKIPPED


def iri_in(token: Token) -> str:
    """What an IRI says, without its brackets and escapes."""
    inside = token.text[1:-1]
    return re.sub(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})", _character, inside) if "\\" in inside else inside


def _character(escape: re.Match[str]) -> str:
    code = int(escape[1] or escape[2], 16)
    return chr(code) if code < 0x110000 else ""
