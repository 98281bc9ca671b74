"""The words of names and of questions, as they are compared: without case, accents, punctuation and legal forms."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from core.query.score import UNSPACED
from core.text import fold, without_accents

# Marks that belong to the letter before them, and the scripts of India, in which every other character is one.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
    "\u200c\u200d\ufe20-\ufe2f"
)
# A word is a run of letters and digits; in a script without spaces each character is one. "S.A." is one word.
_WORD = re.compile(rf"{UNSPACED.pattern}|(?:\w\.){{2,}}|(?:(?!{UNSPACED.pattern})(?:[^\W_]|[{_MARKS}]))+")
_POSSESSIVE = re.compile(r"['’][sS]\b")

# Letters that are no other letter with an accent.
_LETTERS = str.maketrans({"ø": "o", "æ": "ae", "œ": "oe", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})

# What a company is by law. The first are no words of a language, however they are written.
_PLAIN_FORMS = frozenset(
    """gmbh mbh inc incorporated llc llp ltd plc corp kgaa ohg gbr sarl srl bv nv oyj aps spa sro zrt kft doo eood pty
    pvt ооо оао пао зао 株式会社 有限会社 有限公司 股份有限公司 주식회사""".split()  # noqa: SIM905 -- a block of words reads better
)
_FORMS = _PLAIN_FORMS | frozenset(
    """ag kg ug se sa sas sl ab as asa oy co company corporation limited lp ev eg kk lda dd ad ood""".split()  # noqa: SIM905
)
# The longest run of words that is a legal form: "股份有限公司".
_LONGEST_FORM = 6


class Found(NamedTuple):
    """A word of a text: where it stands, and how it is compared."""

    start: int
    end: int
    key: str


def composed(text: str) -> str:
    """The text with each letter and its marks as one character where there is one: in Korean and Japanese, words are
    cut by it."""
    return unicodedata.normalize("NFC", text)


def found_words(text: str) -> list[Found]:
    """The words of a text in their order. A possessive 's is none of them."""
    shown = _POSSESSIVE.sub(lambda mark: " " * len(mark.group()), text)
    return [Found(match.start(), match.end(), word_key(match.group())) for match in _WORD.finditer(shown)]


def word_key(word: str) -> str:
    """A word as it is compared."""
    if word.isascii():
        return word.lower().replace(".", "")
    plain = unicodedata.normalize("NFKC", word)  # letters of full width are letters
    return without_accents(fold(plain)).translate(_LETTERS).replace(".", "")


def is_unspaced(word: str) -> bool:
    """Whether it is a character of a script without spaces."""
    return len(word) == 1 and UNSPACED.match(word) is not None


def name_words(name: str) -> list[str]:
    """The words of a name as they are compared, without its legal form."""
    words = [word.key for word in found_words(composed(name))]
    start, end = named_part(words)
    return words[start:end]


def with_umlauts_spelled(name: str) -> str | None:
    """The name with ae, oe and ue for its umlauts; None where it has none."""
    folded = fold(name)
    spelled = folded.translate(_UMLAUTS)
    return None if spelled == folded else spelled


def named_part(words: Sequence[str], shown: Sequence[str] = ()) -> tuple[int, int]:
    """Where the words start and end without the legal forms at their end ("GmbH & Co. KG") and one at their beginning;
    all of them, where nothing would be left. `shown`: how they are written, where they stand in a sentence, in which
    "as" is a word."""
    end = len(words)
    while form := _form_length(words[:end], shown[:end]):
        end -= form
    if end == 0:
        return 0, len(words)
    return next((n for n in range(1, min(_LONGEST_FORM, end)) if "".join(words[:n]) in _PLAIN_FORMS), 0), end


def _form_length(words: Sequence[str], shown: Sequence[str]) -> int:
    """How many words at the end are a legal form: "S A" and "有 限 公 司" are several."""
    if not words:
        return 0
    last = words[-1]
    if last in _PLAIN_FORMS or (last in _FORMS and not (shown and shown[-1].islower())):
        return 1
    if len(last) == 1:
        for length in range(2, min(_LONGEST_FORM, len(words)) + 1):
            if "".join(words[-length:]) in _FORMS:
                return length
    return 0
