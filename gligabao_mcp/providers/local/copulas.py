"""The facts of sentences with "is": roles, kin, attributes, diets, places and days."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from gligabao_mcp.providers.local.clauses import Clause
from gligabao_mcp.providers.local.facts import Fact, period
from gligabao_mcp.providers.local.phrases import USER, Named, Phrases, is_employer, is_former, listed, objects_of
from gligabao_mcp.providers.local.reading import Token
from gligabao_mcp.providers.local.relations import ADJECTIVES, ATTRIBUTES, NOUNS, Kind
from gligabao_mcp.providers.local.vocabulary import EVENTS, GROUPS, is_lasting, is_role, looks_like_organisation

_NOW_WORDS = re.compile(r"\b(?:now|currently|these days|nowadays|at the moment)\b", re.IGNORECASE)

_TENS = "twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety"
_ONES = "one|two|three|four|five|six|seven|eight|nine"
_TEENS = "ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
_YEARS_OF_LIFE = re.compile(rf"[1-9]\d?|1[01]\d|{_ONES}|{_TEENS}|(?:{_TENS})(?:-(?:{_ONES}))?")


def copula_facts(clause: Clause, sources: list[Named], phrases: Phrases, now: datetime) -> Iterator[Fact]:
    """The facts of one clause with "is"."""
    return _Copula(clause, sources, phrases, now).facts()


def _stray(adjective: Token, preposition: Token) -> list[Token]:
    """ "allergic to nuts and shellfish": a noun that the parser took for a verb beside the adjective."""
    joined = any(c.dep_ == "cc" and c.i > preposition.i for c in adjective.children)
    bare = (c for c in adjective.children if c.dep_ == "conj" and c.i > preposition.i and not any(c.children))
    return [c for c in bare if c.tag_ in ("VB", "VBP")] if joined else []


@dataclass(frozen=True, slots=True)
class _Copula:
    clause: Clause
    sources: list[Named]
    phrases: Phrases
    now: datetime

    def facts(self) -> Iterator[Fact]:
        formerly = any(t.lower_ == "ex" or t.lower_.startswith("ex-") for t in self.clause.slot("attr"))
        if self.clause.status == "denied" or formerly:
            return
        found = list(self._of_attribute())
        if not found:
            for token in self.clause.slot("attr"):
                for part in listed(token):
                    found += (
                        self._of_adjective(part) if part.pos_ == "ADJ" or is_lasting(part.text) else self._of_noun(part)
                    )
        found += [] if found else [*self._of_place(), *self._of_day()]
        yield from found

    def _fact(self, relation: str, source: Named, target: Named, *also: Token, kind: Kind = "state") -> Iterator[Fact]:
        if (held := period(self.clause, kind, self.now)) is not None:
            words = source.words | target.words | {self.clause.verb.i, *(t.i for t in also)}
            yield Fact(source, relation, target, held, words)

    def _of_attribute(self) -> Iterator[Fact]:
        """ "My manager is Diego", "Sofia's birthday is on 3 September", "The capital of Peru is Lima"."""
        for subject in self.clause.subjects[:1]:
            if is_former(subject) and self.clause.status == "stated":
                yield from self._over()._of_attribute()
                return
            if subject.lemma_ == "name":  # "My doctor's name is Lena": who is meant is the doctor
                subject = next((c for c in subject.children if c.dep_ == "poss" and c.lower_ in NOUNS), subject)
            owner = self.phrases.owner(subject) or self._what_for(subject)
            if (
                owner is None
                or (subject.pos_ == "PROPN" and not is_role(subject.text))
                or self.phrases.called(subject) is not None
                or (owner.name == USER and subject.lemma_ in ("office", "headquarters"))
            ):
                continue
            noun = subject.lemma_.lower()
            complement = next(iter(self.clause.slot("attr")), None)
            names = [n for n in self.phrases.all_named(complement) if n.proper] if complement is not None else []
            if names and noun in NOUNS:
                for name in names:
                    yield from self._kin(noun, name, owner, subject)
            elif names and is_role(noun):
                yield from self._holders(subject, owner, names)
            elif complement is None and not self.clause.dates and subject.lower_ not in ATTRIBUTES:
                continue  # "my gym is on Kings Road": a place, no attribute
            elif (noun not in NOUNS and noun not in EVENTS) or noun == "birthday":
                yield from self._attribute(owner, subject)

    def _holders(self, title: Token, owner: Named, names: list[Named]) -> Iterator[Fact]:
        """ "Hooli's CTO is Deepak", "our team lead is Kamil": what the speaker's own firm is called isn't said."""
        own = owner.name == USER or title.lower_ in ("head", "lead")
        called = self.phrases.named(title) if own else None
        for name in names:
            target = owner if called is None else called
            yield from self._fact("role_at" if called is None else "has_role", name, target, title)

    def _what_for(self, subject: Token) -> Named | None:
        """ "The deadline for the report", "the password for the wifi"."""
        if subject.lemma_.lower() in ATTRIBUTES or subject.lemma_ in ("password", "budget", "pin", "code"):
            return next((n for p in objects_of(subject, "for") if (n := self.phrases.named(p))), None)
        return None

    def _kin(self, noun: str, name: Named, owner: Named, *also: Token) -> Iterator[Fact]:
        relation, end = NOUNS[noun]
        yield from self._fact(relation, *((name, owner) if end == "source" else (owner, name)), *also)

    def _attribute(self, owner: Named, subject: Token) -> Iterator[Fact]:
        words = [subject, *(c for c in subject.children if c.dep_ in ("compound", "amod"))]
        known = next((ATTRIBUTES[w.lower_] for w in words if w.lower_ in ATTRIBUTES), None)
        named = "_".join(w.lower_ for w in sorted(words, key=lambda w: w.i))
        target = self._complement(known in ("born_on", "due_on"))
        if target is not None:
            literal = known in ("born_on", "due_on")
            held = replace(self.clause, dates=()) if literal else self.clause
            yield from replace(self, clause=held)._fact(known or f"has_{named}", owner, target, *words)

    def _complement(self, is_date: bool) -> Named | None:
        """What stands after "is", word for word; without its date unless the date is what is said."""
        verb = self.clause.verb
        after = [t for t in verb.subtree if t.i > verb.i and (is_date or t.i not in self.phrases.dates)]
        after = [t for t in after if t.dep_ not in ("neg", "advmod") or t.head.i != verb.i]
        while after and (after[0].pos_ in ("DET", "ADP", "PUNCT", "ADV") or after[0].text in ("my", "our")):
            after = after[1:]
        while after and (after[-1].pos_ == "PUNCT" and after[-1].text in ".!,;:"):
            after = after[:-1]
        if not after or len(after) > 10:
            return None
        text = self.phrases.text(after[0].i, after[-1].i).strip(" .,\"'“”")
        return Named(text, after[-1].i, frozenset(t.i for t in after), after[0].pos_ == "PROPN") if text else None

    def _over(self) -> _Copula:
        return replace(self, clause=replace(self.clause, status="over"))

    def _of_noun(self, noun: Token) -> list[Fact]:
        word = noun.lemma_.lower()
        if is_former(noun) and self.clause.status == "stated":
            return self._over()._of_noun(noun)
        if (age := self._bare_age(noun)) is not None:
            people = [s for s in self.sources if self._is_person(s) and not any(map(str.isdigit, s.name))]
            return [f for s in people for f in self._fact("has_age", s, age)]
        if (mutual := self._mutual(word)) is not None:
            return mutual
        found: list[Fact] = []
        for source in self.sources:
            if word in NOUNS and (owner := self.phrases.owner(noun)):
                found += self._kin(word, source, owner, noun)
            elif self._is_person(source) and (is_role(word) or (word == "partner" and objects_of(noun, "at", "in"))):
                found += self._role(source, noun)
            elif noun.lower_ in ("year", "years") and source.proper:
                continue
            elif self._tells_a_kind(source, noun) and (target := self.phrases.named(noun)):
                amount = any(c.dep_ == "nummod" for c in noun.children)
                found += self._fact("amounts_to" if amount else "is_a", source, target)
        return found

    def _tells_a_kind(self, source: Named, noun: Token) -> bool:
        described = noun.pos_ in ("NOUN", "PROPN") and not self.clause.slot("obj")
        return described and (source.proper or self.phrases.sentence[source.head].pos_ == "NOUN")

    def _mutual(self, word: str) -> list[Fact] | None:
        """ "Rosa and Tim are siblings"."""
        relation, _ = NOUNS.get(word, ("", ""))
        if len(self.sources) != 2 or not relation.endswith(("_of", "_to")) or relation in ("parent_of", "member_of"):
            return None
        return list(self._fact(relation, self.sources[0], self.sources[1], *self.clause.slot("attr")))

    def _role(self, source: Named, noun: Token) -> Iterator[Fact]:
        employers = [n for p in self._places(noun, "at", "for", "with") if (n := self.phrases.named(p)) and n.proper]
        title = self.phrases.named(noun)
        of = [n for p in objects_of(noun, "of") if (n := self.phrases.named(p)) and is_employer(n, p)]
        if of and noun.lower_ not in ("head", "lead"):
            yield from self._fact("role_at", source, of[0], noun)
            return
        if title is not None:
            yield from self._fact("has_role", source, title)
        for employer in employers:
            yield from self._fact("works_at", source, employer, noun)

    def _places(self, noun: Token, *prepositions: str) -> list[Token]:
        below = [p for inner in objects_of(noun, "of") for p in objects_of(inner, *prepositions)]
        return objects_of(noun, *prepositions) + below + [h for p in prepositions for h in self.clause.slot(p)]

    def _is_person(self, source: Named) -> bool:
        return source.proper and not looks_like_organisation(source.name)

    def _of_adjective(self, adjective: Token) -> list[Fact]:
        found: list[Fact] = []
        for prep in adjective.children:
            relation = ADJECTIVES.get((adjective.lower_, prep.lower_)) if prep.dep_ == "prep" else None
            heads = [*prep.children, *_stray(adjective, prep)] if relation else []
            for head in heads:
                for target in self.phrases.all_named(head):
                    for source in self.sources:
                        found += self._fact(relation or "", source, target, adjective)
        if adjective.lower_ == "due" and self.clause.dates:
            day = Named(self.clause.dates[0].phrase, adjective.i, frozenset({adjective.i}))
            held = replace(self, clause=replace(self.clause, dates=()))
            found += [f for source in self.sources for f in held._fact("due_on", source, day)]
        if not found and self._age(adjective) is None and is_lasting(adjective.text):
            words = frozenset({adjective.i})
            for source in self.sources:
                found += self._fact("is_a", source, Named(adjective.text, adjective.i, words))
        if (age := self._age(adjective)) is not None:
            for source in self.sources:
                found += self._fact("has_age", source, age, adjective)
        return found

    def _age(self, adjective: Token) -> Named | None:
        if adjective.lower_ != "old":
            return None
        numbers = [t for t in adjective.subtree if t.pos_ == "NUM"]
        words = frozenset(t.i for t in adjective.subtree)
        return Named(numbers[0].text, adjective.i, words) if numbers else None

    def _bare_age(self, number: Token) -> Named | None:
        """ "Nerys is 29": a number by itself, small enough for the years of a life."""
        parts = [t for t in number.subtree if t.pos_ in ("NUM", "PUNCT") or t.dep_ != "advmod"]
        text = self.phrases.text(parts[0].i, parts[-1].i)
        if number.pos_ != "NUM" or not _YEARS_OF_LIFE.fullmatch(text.lower()):
            return None
        return Named(text, number.i, frozenset(t.i for t in parts))

    def _of_place(self) -> Iterator[Fact]:
        """ "is in Doha these days", "is from Gdansk", "is on the design team"."""
        text = self.phrases.sentence.text
        for prep, relation in (
            ("in", "located_in"),
            ("from", "comes_from"),
            ("on", "located_in"),
            ("on", "member_of"),
            ("in", "member_of"),
        ):
            for head in self.clause.slot(prep):
                target = self.phrases.named(head)
                if target is None or (relation == "member_of") != (head.lemma_ in GROUPS):
                    continue
                if relation == "member_of" or target.proper:
                    for source in self.sources:
                        lives = relation == "located_in" and self._is_person(source) and _NOW_WORDS.search(text)
                        yield from self._fact("lives_in" if lives else relation, source, target)

    def _of_day(self) -> Iterator[Fact]:
        """ "The meeting with Wayne Corp is on Friday"."""
        for subject in self.clause.subjects:
            source = self.phrases.named(subject)
            if source is None or not self.clause.dates or subject.lemma_.lower() not in EVENTS:
                continue
            others = [n for p in objects_of(subject, "with") for n in self.phrases.all_named(p)]
            for other in others:
                yield from self._fact("with", source, other, kind="event")
            if not others:
                found = self.clause.dates[0]
                target = Named(found.phrase, subject.i, frozenset(), False, "date")
                yield from self._fact("scheduled_for", source, target, kind="event")
