"""A remembered fact in a sentence, with the dates that its text doesn't say itself."""

from __future__ import annotations

import re
from datetime import datetime

from core.graph import Edge
from core.text import name_key
from core.times import MICROSECOND, utc
from gligabao_mcp.providers.local.dates import MONTHS, find_dates
from gligabao_mcp.providers.local.phrases import USER

# The user's own words, told back.
_TO_YOU = {
    "i am": "you are",
    "i'm": "you're",
    "i was": "you were",
    "we were": "you were",
    "i've": "you've",
    "i'd": "you'd",
    "i'll": "you'll",
    "we're": "you're",
    "we've": "you've",
    "we'll": "you'll",
    "myself": "yourself",
    "mine": "yours",
    "my": "your",
    "our": "your",
    "ours": "yours",
    "me": "you",
    "us": "you",
    "we": "you",
    "i": "you",
}
_FIRST_PERSON = re.compile(rf"\b(?:{'|'.join(_TO_YOU)})\b(?!\.)", re.IGNORECASE)


def tell(edge: Edge, now: datetime) -> str:
    """The fact as a sentence: its own text where that names whom it is about, else its parts; with "(since …)" or
    "(until …)" where the text has no date."""
    sentence = _sentence(edge)
    end = sentence[-1] if sentence[-1] in ".!?…" else "."
    return f"{sentence.rstrip('.!?')}{_dates(edge, now, sentence)}{end}"


def _sentence(edge: Edge) -> str:
    text = edge.description.strip() or (edge.target if edge.relation == "noted" else "")
    named = edge.source == USER or edge.relation == "noted" or name_key(edge.source) in name_key(text)
    return _to_you(text) if text and named else _from_parts(edge)


def _to_you(text: str) -> str:
    told = _FIRST_PERSON.sub(lambda m: "US" if m[0] == "US" else _TO_YOU[m[0].lower()], text.replace("’", "'"))
    return told if told == text else told[:1].upper() + told[1:]


def _from_parts(edge: Edge) -> str:
    source, target = ("you" if end == USER else end for end in (edge.source, edge.target))
    words = edge.relation.replace("_", " ")
    if words.endswith(" of") or words.split()[0] in ("married", "engaged", "allergic", "located", "born", "written"):
        words = f"{'are' if edge.source == USER else 'is'} {words}"
    sentence = f"{source} {words} {target}"
    return sentence[:1].upper() + sentence[1:]


def _dates(edge: Edge, now: datetime, sentence: str) -> str:
    """What the text doesn't say of when: an end that came later, else a start or end where it has no date at all."""
    dated = bool(find_dates(sentence))
    if edge.invalid_at is not None:
        return "" if dated and edge.invalid_at_source == "stated" else f" (until {_day(edge.invalid_at)})"
    if dated or edge.valid_at_source != "stated":
        return ""
    return f" ({'from' if edge.valid_at > now else 'since'} {_day(edge.valid_at)})"


def _day(moment: datetime) -> str:
    """The day, or the month or year whose first or last instant it is."""
    at = utc(moment)
    following = at + MICROSECOND
    if following.time().isoformat() == "00:00:00" and following.day == 1:  # the last instant of a month or year
        return str(at.year) if following.month == 1 else f"{_month(at)} {at.year}"
    if at == at.replace(day=1, hour=0, minute=0, second=0, microsecond=0):
        return f"{_month(at)} {at.year}"
    return f"{at.day} {_month(at)} {at.year}"


def _month(at: datetime) -> str:
    return MONTHS[at.month - 1].capitalize()
