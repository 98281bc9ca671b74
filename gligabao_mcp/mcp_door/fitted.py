"""Results that would fill a model's context: as many whole items as fit, and a cursor for the facts that do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from core import fitting
from core.datasets import DEFAULT_DATASET
from core.query.cursor import Rest
from core.times import read_instant, read_moment

Body = dict[str, Any]
Items = Sequence[Any]

# Tokens for the session, and for what is said of lists that were cut.
ENVELOPE = 200
_FACTS = ("edges", "entities")
# Other lists that may be long; what a model needs first comes first.
_OTHERS = ("invalidated_edges", "messages", "chunks", "blocks")
# Of a run that is too long as a whole: how each of its steps went (REST and the command line show it).
_FOR_PEOPLE = ("stages", "parameters")
# What went wrong is told before what went well, in at most this part of the room.
_WARNED = 1 / 4


def fitted(body: Body, arguments: Mapping[str, Any], limit: int) -> Body:
    """The body in about `limit` tokens. Its lists keep whole items, in their order: facts before all else, each with
    the entities at its ends. `shown` and `total` count the items of every list that was cut; `cursor`, sent with query,
    gets the facts and entities that are missing, as they stood then."""
    room = limit - ENVELOPE
    if fitting.fits(body, room):
        return body
    body = {name: part for name, part in body.items() if name not in _FOR_PEOPLE}
    rows = _without_copies(_rows(body))
    if fitting.fits(whole := _with_rows(body, rows), room):
        return whole
    lists: dict[str, Items] = {name: rows[name] for name in ("warnings", *_FACTS, *_OTHERS) if rows.get(name)}
    if not lists:
        return body
    all_facts = Rest(*_read_at(body, arguments, lists), *_ids(lists))
    room -= fitting.tokens_of(_with_rows(body, rows | dict.fromkeys(lists, ())))
    kept = _kept(lists, room - fitting.tokens_of(_cursor(all_facts, room // 3)))
    cut = [name for name in lists if len(kept[name]) < len(lists[name])]
    told: Body = {"shown": {name: len(kept[name]) for name in cut}, "total": {name: len(lists[name]) for name in cut}}
    if (rest := all_facts.without(*_ids(kept))).rows:
        told["cursor"] = _cursor(rest, room // 3)
    return {**_with_rows(body, rows | kept), **told}


def _rows(body: Body) -> Body:
    """What holds the lists: of query its evidence, of a run's state the response in it, else the body."""
    return body.get("evidence") or body.get("response") or body


def _with_rows(body: Body, rows: Body) -> Body:
    holder = next((name for name in ("evidence", "response") if body.get(name)), None)
    return {**body, holder: rows} if holder else rows


def _without_copies(rows: Body) -> Body:
    """The facts of a chunk stand among those of the whole text."""
    chunks = [{name: part for name, part in chunk.items() if name not in _FACTS} for chunk in rows.get("chunks", ())]
    return {**rows, "chunks": chunks} if chunks else rows


# Which items fit ------------------------------------------------------------------------------------------------------


def _kept(lists: Mapping[str, Items], room: int) -> dict[str, Items]:
    """The items of each list that fit, all lists together. What would never fit is shortened: whoever follows the
    cursor gets on."""
    lists = {name: _shortened(items, room // 2) for name, items in lists.items()}
    warnings = lists.get("warnings", ())
    warned = warnings[: fitting.how_many(warnings, int(room * _WARNED))]
    kept, left = _kept_facts(lists.get("edges", ()), lists.get("entities", ()), room - sum(fitting.costs(warned)))
    kept["warnings"] = warned
    for name in _OTHERS:
        items = lists.get(name, ())
        kept[name] = items[: fitting.how_many(items, left)]
        left -= sum(fitting.costs(kept[name]))
    return {name: kept[name] for name in lists}


def _shortened(items: Items, room: int) -> Items:
    return [
        item if cost <= room else fitting.shortened(item, room)
        for item, cost in zip(items, fitting.costs(items), strict=True)
    ]


def _kept_facts(edges: Items, entities: Items, room: int) -> tuple[dict[str, Items], int]:
    """The first facts with the entities at their ends, then further entities, and the room that is left. One row at
    least, whatever it takes."""
    price = dict(zip((entity["id"] for entity in entities), fitting.costs(entities), strict=True))
    named: set[int] = set()
    count = 0
    for edge, cost in zip(edges, fitting.costs(edges), strict=True):
        ends = {edge["source_id"], edge["target_id"]} & price.keys() - named
        if (needed := cost + sum(price[end] for end in ends)) > room:
            break
        room -= needed
        named |= ends
        count += 1
    for entity_id in (entity_id for entity_id in price if entity_id not in named):
        if price[entity_id] > room and (count or named):
            break
        room -= price[entity_id]
        named.add(entity_id)
    if edges and not count and not named:
        count, room = 1, room - fitting.tokens_of(edges[0])
    return {"edges": edges[:count], "entities": [e for e in entities if e["id"] in named]}, room


# What is told of the others -------------------------------------------------------------------------------------------


def _ids(lists: Mapping[str, Items]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids of the entities and of the facts."""
    entities, edges = (tuple(row["id"] for row in lists.get(name, ())) for name in ("entities", "edges"))
    return entities, edges


def _read_at(body: Body, arguments: Mapping[str, Any], lists: Mapping[str, Items]) -> tuple[str, datetime]:
    """The dataset, and the moment as of which the rest is read: that of the call, so that the parts belong together."""
    if cursor := arguments.get("cursor"):
        before = Rest.read(cursor)
        return before.dataset, before.known_at
    dataset = body.get("dataset") or arguments.get("dataset") or DEFAULT_DATASET
    if known := read_moment(arguments.get("known_at")):
        return dataset, known.at
    # Another machine's clock may be ahead of this one.
    learned = (read_instant(edge["created_at"]) for edge in lists.get("edges", ()))
    return dataset, max([datetime.now(UTC), *(moment for moment in learned if moment)])


def _cursor(rest: Rest, room: int) -> str:
    """The cursor; where it would be too long itself, of the first rows only. A long text that was remembered can have
    so many."""
    while rest.is_too_long or not fitting.fits(rest.cursor(), max(room, 100)):
        rest = rest.first_half()
    return rest.cursor()
