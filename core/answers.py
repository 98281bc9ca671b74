"""What a language model wrote, made into values: chatter around the JSON, odd escapes and items that do not fit are
expected, an answer that says nothing usable is None."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeGuard, TypeVar, cast

from core.extraction import RawEdge, RawEntity
from core.graph import NOTHING, Verdict
from core.images import MAX_BLOCK, MAX_BLOCKS, ROLES, THEMES, Block, ImageReading
from core.ports import Answer
from core.text import clean

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Usable(Generic[T]):
    """What an answer says, and how many of its items had to be left out."""

    value: T
    left_out: int = 0


# strict=False: models write line breaks inside strings as they are.
_DECODER = json.JSONDecoder(strict=False)
_OPENING = re.compile(r"[{\[]")
# A thought stands before the answer; some templates open it inside the prompt, so only its end is seen.
_THOUGHT = re.compile(r"\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_THOUGHT_END = re.compile(r"(?!\s*[{\[`]).*?</think(?:ing)?>", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:(?P<pair>ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|(?P<lone>ud[89a-f][0-9a-f]{2})|(?P<unit>u[0-9a-f]{4})"
    r"|(?P<short>u[0-9a-f]{0,3})|(?P<plain>[\"\\/bfnrt])|(?P<odd>))",
    re.IGNORECASE,
)
_SURROGATE = re.compile("[\ud800-\udfff]")
# Enough for any real answer; keeps a text of nothing but brackets from costing seconds.
_MAX_STARTS = 1000
# Longer than any language tag that a model would write.
MAX_LANGUAGE = 35


def read_json(text: str, fits: Callable[[object], T | None]) -> T | None:
    """The first JSON value in the text that `fits` makes something of, else None.

    Code fences and prose do no harm, in braces or not; a thought before the answer is no answer. A value wrapped alone
    in an object or a list is tried as well. A bare list counts only while nothing before it was broken JSON: it could
    be one part of an answer whose other parts are lost.
    """
    text = _repaired(_without_thought(text))
    whole = True
    at = 0
    for _ in range(_MAX_STARTS):
        if (start := _OPENING.search(text, at)) is None:
            return None
        try:
            value, at = cast("tuple[object, int]", _DECODER.raw_decode(text, start.start()))
        except json.JSONDecodeError as error:
            at = max(error.pos, start.end())
            whole = whole and error.pos <= start.end()
            continue
        except (RecursionError, ValueError):  # nested too deep, a number too long
            at, whole = start.end(), False
            continue
        for offer in _offers(value):
            if (whole or not _is_list(offer)) and (read := fits(offer)) is not None:
                return read
    return None


def read_graph(text: str) -> Usable[tuple[list[RawEntity], list[RawEdge]]] | None:
    """The entities and edges of an extract_graph answer."""
    return read_json(text, _graph)


def read_verdicts(text: str, new: int, ids: Collection[int]) -> Usable[list[Verdict]] | None:
    """One verdict for each of the `new` facts; ids that are not among `ids` are left out one by one."""
    return read_json(text, lambda value: _verdicts(value, new, ids))


def read_summary(text: str) -> Usable[str] | None:
    """The sentences of a summary."""
    return read_json(text, _summary)


def read_image_reading(text: str) -> Usable[ImageReading] | None:
    """The theme, title and blocks of an extract_image answer."""
    return read_json(text, _image_reading)


def read_answer(text: str) -> Usable[Answer] | None:
    """The answer to a question and the ids it cites."""
    return read_json(text, _answer)


def _without_thought(text: str) -> str:
    while thought := _THOUGHT.match(text):
        text = text[thought.end() :]
    end = _THOUGHT_END.match(text)
    return text[end.end() :] if end else text


def _repaired(text: str) -> str:
    """The text with every escape readable: a surrogate without its other half, or half an escape, is U+FFFD."""
    return _ESCAPE.sub(_escape, _SURROGATE.sub("\ufffd", text))


def _escape(match: re.Match[str]) -> str:
    if match["lone"] or match["short"]:
        return "\ufffd"
    if match["odd"] is not None:  # \' and the like: the backslash means nothing
        return ""
    return match[0]


def _offers(value: object) -> Iterator[object]:
    yield value
    while len(inside := list(value.values()) if _is_object(value) else _items(value)) == 1:
        value = inside[0]
        yield value


def _graph(value: object) -> Usable[tuple[list[RawEntity], list[RawEdge]]] | None:
    if _is_list(value):
        return _bare_graph(value)
    fields = _fields(value)
    entities, edges = fields.get("entities"), fields.get("edges")
    if not (_is_list(entities) or _is_list(edges)):
        return None
    named, unnamed = _kept(entities, _entity)
    stated, unstated = _kept(edges, _edge)
    # Nothing left of a list that held something is no empty list: its keys were others.
    if (unnamed and not named) or (unstated and not stated):
        return None
    return Usable((named, stated), unnamed + unstated)


def _bare_graph(items: list[object]) -> Usable[tuple[list[RawEntity], list[RawEdge]]] | None:
    read = [_edge(item) or _entity(item) for item in items if _is_object(item)]
    if not items or len(read) < len(items) or None in read:
        return None
    entities = [item for item in read if isinstance(item, RawEntity)]
    return Usable((entities, [item for item in read if isinstance(item, RawEdge)]))


def _entity(item: object) -> RawEntity | None:
    fields = {"name": item} if isinstance(item, str) else _fields(item)
    name = _words(fields.get("name"))
    if name is None:
        return None
    return RawEntity(name, _words(fields.get("type")) or "", _words(fields.get("description")) or "")


def _edge(item: object) -> RawEdge | None:
    fields = _fields(item)
    source, target = _words(fields.get("source")), _words(fields.get("target"))
    relation = _words(fields.get("relation"))
    if source is None or target is None or relation is None:
        return None
    description = _words(fields.get("description")) or ""
    dates = _date(fields, "valid_at"), _date(fields, "invalid_at")
    return RawEdge(source, target, relation, description, *dates, message=_id(fields.get("message")) or 0)


def _date(fields: dict[str, object], key: str) -> str | None:
    stated = (_words(fields.get(key)) or "").strip()
    return None if stated.lower() in ("", "null", "none", "unknown", "n/a") else stated


def _verdicts(value: object, new: int, ids: Collection[int]) -> Usable[list[Verdict]] | None:
    fields = {"results": cast("object", value)} if _is_list(value) else _fields(value)
    if not any(_is_list(fields.get(key)) for key in ("results", "duplicates", "contradictions")):
        return None
    ballot = _Ballot(new, ids)
    for item in _items(fields.get("results")):
        ballot.result(item)
    for item in _items(fields.get("duplicates")):
        ballot.duplicate(item)
    for item in _items(fields.get("contradictions")):
        ballot.contradiction(item)
    if ballot.left_out and not ballot.counted:
        return None
    return Usable(ballot.verdicts(), ballot.left_out)


class _Ballot:
    """The verdicts as they are read: by new fact, the ids that are said of it, unknown ones counted."""

    def __init__(self, new: int, ids: Collection[int]) -> None:
        self._new = new
        self._ids = ids
        self._duplicate: dict[int, int] = {}
        self._contradicts: dict[int, dict[int, None]] = {}
        self.left_out = 0
        self.counted = 0

    def result(self, item: object) -> None:
        """An item of `results`: everything about one new fact."""
        fields = _fields(item)
        if (fact := self._fact(fields)) is not None:
            self.counted += 1
            self._say_duplicate(fact, _listed(fields.get("duplicate_of")))
            self._say_contradicts(fact, _listed(fields.get("contradicts")))

    def duplicate(self, item: object) -> None:
        """An item of `duplicates`: a pair of a new fact and a stored one."""
        fields = _fields(item)
        if (fact := self._fact(fields)) is not None:
            self.counted += 1
            self._say_duplicate(fact, _listed(fields.get("old", fields.get("duplicate_of"))))

    def contradiction(self, item: object) -> None:
        """An item of `contradictions`: such a pair, or a stored id where it can only be meant of the one new fact."""
        fields = _fields(item) if _is_object(item) else {"new": 0 if self._new == 1 else None, "old": item}
        if (fact := self._fact(fields)) is not None:
            self.counted += 1
            self._say_contradicts(fact, _listed(fields.get("old", fields.get("contradicts"))))

    def verdicts(self) -> list[Verdict]:
        """One for each new fact. What contradicts a stored fact is no repeat of it."""
        return [self._verdict(fact) for fact in range(self._new)]

    def _verdict(self, fact: int) -> Verdict:
        contradicts = tuple(self._contradicts.get(fact, ()))
        duplicate = self._duplicate.get(fact)
        if duplicate is None and not contradicts:
            return NOTHING
        return Verdict(None if duplicate in contradicts else duplicate, contradicts)

    def _fact(self, fields: dict[str, object]) -> int | None:
        stated = fields.get("new")
        fact = _id(stated[1:] if isinstance(stated, str) and stated[:1] in ("n", "N") else stated)
        if fact is not None and 0 <= fact < self._new:
            return fact
        self.left_out += 1
        return None

    def _say_duplicate(self, fact: int, stated: Sequence[object]) -> None:
        for known in self._known(stated):
            self._duplicate.setdefault(fact, known)

    def _say_contradicts(self, fact: int, stated: Sequence[object]) -> None:
        self._contradicts.setdefault(fact, {}).update(dict.fromkeys(self._known(stated)))

    def _known(self, stated: Sequence[object]) -> list[int]:
        known = [i for i in map(_id, stated) if i is not None and i in self._ids]
        self.left_out += len(stated) - len(known)
        return known


def _summary(value: object) -> Usable[str] | None:
    text = _cleaned(_fields(value).get("summary"))
    return Usable(text) if text else None


def _image_reading(value: object) -> Usable[ImageReading] | None:
    fields = _fields(value)
    if not _is_list(fields.get("blocks")):
        return None
    blocks, odd = _kept(fields["blocks"], _block)
    if odd and not blocks:  # nothing left of a list that held something is no empty list: its keys were others
        return None
    said = [block for block in blocks if block.text]
    reading = ImageReading(
        _one_of(THEMES, fields.get("theme"), "other"),
        _cleaned(fields.get("title"))[:MAX_BLOCK],
        tuple(said[:MAX_BLOCKS]),
        _cleaned(fields.get("language"))[:MAX_LANGUAGE],
    )
    return Usable(reading, odd + len(said[MAX_BLOCKS:]))


def _block(item: object) -> Block | None:
    fields = {"text": item} if isinstance(item, str) else _fields(item)
    if _words(fields.get("text")) is None:
        return None
    return Block(_cleaned(fields["text"])[:MAX_BLOCK], _one_of(ROLES, fields.get("role"), "other"))


def _one_of(known: Sequence[T], value: object, default: T) -> T:
    """The known word that is meant, however it is spaced and spelled."""
    meant = "_".join((_words(value) or "").lower().split())
    return next((word for word in known if word == meant), default)


def _cleaned(value: object) -> str:
    """A string as it can be stored anywhere, without white space around it."""
    cleaned, _ = clean(_words(value) or "")
    return str(cleaned).strip()


def _answer(value: object) -> Usable[Answer] | None:
    fields = _fields(value)
    text = _cleaned(fields.get("answer"))
    if not text:
        return None
    entities, odd_entities = _kept(_listed(fields.get("entities")), _id)
    edges, odd_edges = _kept(_listed(fields.get("edges")), _id)
    return Usable(Answer(text, tuple(entities), tuple(edges)), odd_entities + odd_edges)


def _kept(items: object, read: Callable[[object], T | None]) -> tuple[list[T], int]:
    """The items that can be read, and how many can't."""
    stated = _items(items)
    kept = [value for item in stated if (value := read(item)) is not None]
    return kept, len(stated) - len(kept)


def _is_object(value: object) -> TypeGuard[dict[str, object]]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)


def _fields(value: object) -> dict[str, object]:
    return value if _is_object(value) else {}


def _items(value: object) -> list[object]:
    return value if _is_list(value) else []


def _listed(value: object) -> list[object]:
    """A list as it is, one value as a list of it, null as none."""
    if value is None:
        return []
    return value if _is_list(value) else [value]


def _words(value: object) -> str | None:
    """A string; a number as it is written."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _id(value: object) -> int | None:
    """A whole number, whether it came as 12, 12.0 or "12"; else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        digits = value.strip()
        # Row ids have at most 19 digits; int() refuses a few thousand of them with an error.
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 20 else None
    return value if isinstance(value, int) else None
