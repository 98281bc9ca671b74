"""A text read by rules: typed facts where a sentence states them plainly, and a note where they don't tell it all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.extraction import RawEdge, RawEntity
from gligabao_mcp.providers.local.clauses import GOES_ON, REPORTS, STOPS, Clause, clauses
from gligabao_mcp.providers.local.dates import Found, find_dates
from gligabao_mcp.providers.local.facts import Fact, said_date
from gligabao_mcp.providers.local.notes import is_question, note_name, says_nothing
from gligabao_mcp.providers.local.phrases import USER, Context, Named, Phrases
from gligabao_mcp.providers.local.reading import Parser, Sentence
from gligabao_mcp.providers.local.relations import SIGNATURES
from gligabao_mcp.providers.local.rules import Reader
from gligabao_mcp.providers.local.sentences import pieces
from gligabao_mcp.providers.local.tables import word_set
from gligabao_mcp.providers.local.vocabulary import looks_like_organisation, looks_like_place

NOTED = "noted"
# A longer sentence is a list or a table: it is kept as a note and not parsed.
LONGEST_PARSED = 1500
_REMEMBER = re.compile(r"^(?:please )?(?:remember|note|don't forget|keep in mind)(?: that|:)\s+", re.IGNORECASE)
# Words that carry no content of their own beside a fact.
_LIGHT = word_set("year month day week time today name lot thing way job mr. mrs. dr. ms.")


_SUBJECTS = frozenset({"nsubj", "nsubjpass"})
# The small model takes some names for other words; one of these reads well in their place.
_STAND_INS = ("Alice", "Linda", "David")
# What else is parsed as something plainer: of the title the parser makes a verb, of the verb three words.
_PLAINER = (
    (re.compile(r"\b(team|tech|unit|crew|project|design|group) lead\b"), r"\1 dean"),
    (re.compile(r"\bco-(?=found(?:ed|s|ing)?\b)"), "co"),
)
_NO_NAME = word_set(
    "please yes no maybe perhaps also then now just btw fyi well so quick note update reminder still never here"
    " there today yesterday tomorrow currently"
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A sentence and its parse, where other words may stand in for some."""

    text: str
    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Read:
    """What one sentence gave."""

    entities: tuple[RawEntity, ...]
    edges: tuple[RawEdge, ...]


def read_text(text: str, reference: datetime, parser: Parser) -> Read:
    """The entities and edges that the text states, sentence by sentence."""
    context = Context()
    parts = list(pieces(text))
    prose = [_REMEMBER.sub("", p.text) for p in parts if not p.code and len(p.text) <= LONGEST_PARSED]
    parsed = parser.pipe(map(_plainer, prose))
    found: list[Read] = []
    for part in parts:
        if part.code or len(part.text) > LONGEST_PARSED:
            found.append(_note(part.text, USER, None))
        else:
            whole = _REMEMBER.sub("", part.text)
            found.append(_read_sentence(_well_parsed(whole, next(parsed), parser), context, reference))
    types: dict[str, str] = {}
    for entity in (e for read in found for e in read.entities):
        types.setdefault(entity.name, entity.type)
    entities = tuple(RawEntity(name, type_) for name, type_ in types.items())
    return Read(entities, tuple(e for read in found for e in read.edges))


def _plainer(text: str) -> str:
    for pattern, instead in _PLAINER:
        text = pattern.sub(instead, text)
    return text


def _well_parsed(text: str, sentence: Sentence, parser: Parser) -> Parsed:
    """The sentence, parsed once more with a plain name in place of a first word that the parser took for no name."""
    parsed = Parsed(text, sentence)
    if len(sentence) < 3 or not _hides_a_name(sentence):
        return parsed
    first = sentence[0]
    if any(t.dep_ in _SUBJECTS for t in sentence) and first.pos_ in ("PROPN", "NOUN", "VERB"):
        return parsed
    rest = sentence.text[len(first.text) :]
    tried = (again for again in parser.pipe([name + rest for name in _STAND_INS]) if len(again) == len(sentence))
    return next((Parsed(text, again) for again in tried if _begins_with_subject(again)), parsed)


def _hides_a_name(sentence: Sentence) -> bool:
    first = sentence[0]
    opener = first.lower_ in _NO_NAME or first.lower_.endswith("ly") or first.tag_ in ("VBD", "VBN", "VBG")
    named = first.text[0].isupper() and not opener and first.pos_ not in ("PRON", "DET", "AUX", "ADP")
    return named and first.dep_ not in _SUBJECTS and sentence[1].lower_ not in ("n't", "not")


def _begins_with_subject(sentence: Sentence) -> bool:
    second = sentence[1]
    follows = second.pos_ in ("VERB", "AUX", "PROPN", "CCONJ", "PUNCT", "ADV") or second.lower_ in ("'s", "’s")
    first, verb = sentence[0], sentence[0].head
    hidden = first.dep_ == "compound" and verb.dep_ == "ROOT" and verb.tag_ == "VBZ"
    plain = first.dep_ in _SUBJECTS and verb.dep_ not in ("compound", "amod", "nmod")
    return follows and (plain or hidden)


def _read_sentence(parsed: Parsed, context: Context, reference: datetime) -> Read:
    sentence = parsed.sentence
    if not len(sentence) or is_question(sentence) or says_nothing(sentence):
        return Read((), ())
    dates = find_dates(sentence.text)
    phrases = Phrases(sentence, context, _date_tokens(sentence, dates), parsed.text)
    said = clauses(sentence, dates)
    facts = Reader(sentence, phrases, reference).facts(said)
    description = _with_names(parsed, context)
    entities = tuple(_entities(facts))
    edges = tuple(_edge(fact, description) for fact in facts)
    subject = _subject(said, phrases)
    context.remember(_people(sentence, facts, subject))
    if edges and not _leaves_out(sentence, facts, said, phrases.dates):
        return Read(entities, edges)
    note = _note(description, subject.name if subject else USER, said_date(dates, said[0] if said else None, reference))
    return Read((*entities, *note.entities), (*edges, *note.edges))


def _date_tokens(sentence: Sentence, dates: Sequence[Found]) -> frozenset[int]:
    """The tokens that a date phrase touches: "2022–2023" is one token and two dates."""
    return frozenset(t.i for t in sentence for d in dates if t.idx < d.end and d.start < t.idx + len(t.text))


def _note(text: str, source: str, date: str | None) -> Read:
    name = note_name(text)
    user = (RawEntity(USER, "person"),) if source == USER else ()
    return Read((*user, RawEntity(name, "note")), (RawEdge(source, name, NOTED, text, date),))


def _edge(fact: Fact, description: str) -> RawEdge:
    period = fact.period
    return RawEdge(fact.source.name, fact.target.name, fact.relation, description, period.start, period.end)


def _entities(facts: Sequence[Fact]) -> Iterator[RawEntity]:
    """The ends of the facts, typed by their relation. An end that no relation types is left to what is stored."""
    for fact in facts:
        for end, type_ in zip((fact.source, fact.target), SIGNATURES.get(fact.relation, ("?", "?")), strict=True):
            if settled := _settled(end, type_):
                yield RawEntity(end.name, settled)


def _settled(end: Named, type_: str) -> str:
    if end.name == USER:
        return "person"
    if type_ == "person" and looks_like_organisation(end.name):
        return "organization"
    if type_ == "person" and not (end.proper or end.type):
        return ""
    if end.type:
        return end.type
    if type_ == "possession":
        return ""
    return "" if type_ == "?" else type_


def _subject(said: Sequence[Clause], phrases: Phrases) -> Named | None:
    """Whom the sentence is about: the subject of its main clause, where that has a name."""
    for clause in said:
        for token in clause.subjects:
            named = phrases.named(token)
            if named is not None and (named.proper or named.name == USER):
                return named
    return None


def _people(sentence: Sentence, facts: Sequence[Fact], subject: Named | None) -> set[str]:
    """Who may be meant by "he" or "she" afterwards: the people of the facts, else whom the parser takes for people."""
    people = {
        end.name
        for fact in facts
        for end, type_ in zip((fact.source, fact.target), SIGNATURES.get(fact.relation, ("?", "?")), strict=True)
        if type_ == "person" and end.proper and not looks_like_organisation(end.name)
    }
    if subject is not None and subject.proper and not looks_like_place(subject.name):
        people.add(subject.name)
    return people or {
        t.text for t in sentence if t.ent_type_ == "PERSON" and t.pos_ == "PROPN" and t.dep_ != "compound"
    }


def _with_names(parsed: Parsed, context: Context) -> str:
    """The sentence, with the name put behind the first "he" or "she" that stands for it, to be read on its own."""
    sentence, text = parsed.sentence, parsed.text
    if not context.used or context.person is None or text != sentence.text:
        return text
    name, context.used = context.person, set()
    if name in text:
        return text
    pronoun = next((t for t in sentence if t.lower_ in ("he", "she", "him", "her", "his")), None)
    if pronoun is None:
        return text
    end = pronoun.idx + len(pronoun.text)
    return f"{text[:end]} ({name}){text[end:]}"


def _leaves_out(sentence: Sentence, facts: Sequence[Fact], said: Sequence[Clause], dates: frozenset[int]) -> bool:
    """Whether the sentence says more than its facts: a name, a number, a thing or a doing that none of them holds."""
    told = dates.union(*(f.words for f in facts))
    passing = {c.verb.i for c in said if c.lemma in REPORTS | GOES_ON | STOPS or c.lemma in ("be", "use")}
    verbs = {c.verb.i for c in said} - passing
    return any(
        (t.pos_ in ("PROPN", "NOUN", "NUM") and t.lemma_.lower() not in _LIGHT) or t.i in verbs
        for t in sentence
        if t.i not in told and t.dep_ not in ("aux", "auxpass") and t.text.isalnum()
    )
