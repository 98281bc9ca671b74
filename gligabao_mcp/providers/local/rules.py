"""The typed facts that a parsed sentence states, by the tables of relations.py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gligabao_mcp.providers.local.clauses import STOPS, Clause
from gligabao_mcp.providers.local.copulas import copula_facts
from gligabao_mcp.providers.local.facts import Fact, Period, period
from gligabao_mcp.providers.local.phrases import USER, Named, Phrases, describes, listed, objects_of
from gligabao_mcp.providers.local.reading import Sentence, Token
from gligabao_mcp.providers.local.relations import (
    GROUPS,
    JOBS,
    MUTUAL,
    NOUNS,
    PETS,
    SAYINGS,
    VAGUE_VERBS,
    Kind,
    Saying,
    is_role,
    looks_like_organisation,
    looks_like_place,
)

_HABITS = frozenset(
    "smoke drink run swim ski sing dance paint cook climb cycle knit meditate surf hike bake jog fish garden box row"
    " skate volunteer commute gamble vape".split()
)
_BY_DATE = frozenset(
    "start begin end close open expire launch ship release die retire finish arrive leave cancel postpone publish"
    " complete approve sign deliver deploy bear happen".split()
)
_NOT_AN_EMPLOYER = frozenset("home night weekends weekend day moment office desk scratch".split())
_OWN_PLACE = frozenset("practice office headquarters base branch shop studio clinic factory warehouse plant".split())
_FEELINGS = frozenset({"likes", "dislikes", "prefers"})
_DENIED: dict[str, str] = {"likes": "dislikes", "drinks": "avoids", "eats": "avoids", "uses": "avoids"}


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the facts of one sentence."""

    sentence: Sentence
    phrases: Phrases
    now: datetime

    def facts(self, clauses: Sequence[Clause]) -> list[Fact]:
        """The facts that the clauses state, then those that its phrases carry ("my sister Anna")."""
        found: list[Fact] = []
        for clause in clauses:
            found += self._ended_before(clause, found) or self._of_clause(clause)
        found += self._described(clauses)
        unique = {(f.source.name, f.relation, f.target.name, f.period): f for f in reversed(found)}
        return [f for f in reversed(unique.values()) if f.source.name != f.target.name]

    def _of_clause(self, clause: Clause) -> list[Fact]:
        if clause.status == "unsure":
            return []
        sources = self._sources(clause)
        if clause.lemma == "be" and not clause.passive:
            return list(copula_facts(clause, sources, self.phrases, self.now))
        if clause.passive and clause.verb.lower_ in ("retired", "divorced", "separated") and clause.tense == "present":
            state = Named(clause.verb.lower_, clause.verb.i, frozenset({clause.verb.i}))
            return [f for s in sources for f in self._fact(clause, "is_a", s, state)]
        if clause.status == "denied":
            return list(self._denied(clause, sources))
        facts = [*self._said(clause, sources), *self._jobs(clause, sources), *self._mutual(clause, sources)]
        return facts or [*self._habit(clause, sources), *self._by_date(clause, sources)] or list(
            self._itself(clause, sources)
        )

    def _sources(self, clause: Clause) -> list[Named]:
        if any(t.i and self.sentence[t.i - 1].lower_ == "not" for t in clause.subjects):
            return []
        if clause.diary:
            return [Named(USER, clause.verb.i, frozenset(), True, "person")]
        return [named for token in clause.subjects if (named := self.phrases.named(token))]

    def _said(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        if (kin := list(self._called(clause))):
            yield from kin
            return
        for saying in SAYINGS.get(clause.lemma, ()):
            if saying.passive == clause.passive:
                for head in clause.slot(saying.slot):
                    for target in self.phrases.all_named(head):
                        facts = self._facts(clause, saying, sources, target)
                        yield from self._with_comparison(clause, facts) if saying.relation == "prefers" else facts
        yield from self._promoted(clause, sources)
        yield from self._liked_doings(clause, sources)
        yield from self._chosen(clause, sources)

    def _with_comparison(self, clause: Clause, facts: Iterator[Fact]) -> Iterator[Fact]:
        """ "prefers tea over coffee": the coffee is said with it."""
        less = [h for slot in ("over", "to", "than") for h in clause.slot(slot)]
        words = frozenset(t.i for head in less for t in head.subtree)
        return (replace(fact, words=fact.words | words) for fact in facts)

    def _called(self, clause: Clause) -> Iterator[Fact]:
        """ "Liam's mother is called Nora"."""
        if clause.lemma in ("call", "name") and clause.passive and clause.subjects:
            noun, owner = clause.subjects[0], self.phrases.owner(clause.subjects[0])
            for name in (n for head in clause.slot("attr")[:1] for n in self.phrases.all_named(head)):
                if owner and noun.lemma_ in NOUNS:
                    relation, end = NOUNS[noun.lemma_]
                    ends = (name, owner) if end == "source" else (owner, name)
                    for fact in self._fact(clause, relation, *ends):
                        yield replace(fact, words=fact.words | {noun.i})

    def _facts(self, clause: Clause, saying: Saying, sources: list[Named], target: Named) -> Iterator[Fact]:
        head = self.sentence[target.head]
        if saying.relation == "has_role" and (of := self._employer(head)) is not None:
            for source in sources:
                yield from self._fact(clause, "role_at", source, of, kind=saying.kind)
            return
        for source in sources:
            ends = (target, source) if saying.inverse else (source, target)
            if relation := self._fitting(clause, saying, *ends):
                yield from self._fact(clause, relation, *ends, kind=saying.kind)

    def _employer(self, title: Token) -> Named | None:
        """Whose title it is: "CFO of Initech"; none in "head of design"."""
        if title.lower_ in ("head", "lead") or not is_role(title.lower_):
            return None
        return next((n for place in objects_of(title, "of") if (n := self.phrases.named(place)) and n.proper), None)

    def _fact(
        self, clause: Clause, relation: str, source: Named, target: Named, *, kind: Kind = "state"
    ) -> Iterator[Fact]:
        if (held := period(clause, kind, self.now)) is not None:
            yield Fact(source, relation, target, held, source.words | target.words | {clause.verb.i})

    def _fitting(self, clause: Clause, saying: Saying, source: Named, target: Named) -> str | None:
        """The relation, as its two ends have it; None where they don't fit it."""
        noun = self.sentence[target.head].lemma_.lower()
        relation = saying.relation
        if relation == "has_role" and not is_role(noun) and target.proper:
            return None
        if relation == "works_at":
            return _employment(saying, source, target, noun)
        if relation == "lives_in":
            return self._residence(clause, saying, source, target)
        if relation in ("studied", "studied_at") and clause.tense == "present" and not clause.perfect:
            if relation == "studied_at" and looks_like_place(target.name):
                return "studies_in"
            return relation.replace("studied", "studies")
        if relation == "owns" and clause.lemma == "buy" and self._is_bare_name(target):
            return "acquired"
        if relation == "travels_to" and clause.tense == "past":
            return "visited" if target.proper else None
        if relation == "has":
            return _possession(noun, target)
        if relation == "plays_in" and noun not in GROUPS and not target.proper:
            return None
        if relation == "owns" and clause.lemma == "adopt" and noun not in PETS and not target.type:
            return "uses" if target.proper else "adopted"
        if relation in ("visited", "met", "attended") and clause.tense != "past":
            return {"visited": "visits", "met": "meets", "attended": "attends"}[relation]
        return relation

    def _is_bare_name(self, target: Named) -> bool:
        """A name with nothing before it: "bought Initech" is a takeover, "bought a Tesla" is not."""
        head = self.sentence[target.head]
        return head.pos_ == "PROPN" and not any(c.dep_ in ("det", "amod", "poss", "nummod") for c in head.children)

    def _residence(self, clause: Clause, saying: Saying, source: Named, target: Named) -> str | None:
        subject = self.sentence[source.head]
        if subject.lower_ in ("we", "us") and not looks_like_place(target.name) and clause.lemma != "live":
            return "uses" if saying.kind != "state" else None
        thing = not source.proper or looks_like_organisation(source.name)
        return "located_in" if thing and saying.slot in ("in", "to", "from", "into", "on", "at") else "lives_in"

    def _promoted(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        """ "promoted to head of design": a title that the parser takes for a verb."""
        if clause.lemma in ("promote", "appoint", "name", "elect") and clause.passive:
            for child in clause.verb.children:
                if child.dep_ == "xcomp" and child.lemma_ in ("head", "lead", "chair", "direct", "manage"):
                    last = max(t.i for t in child.subtree if t.i not in self.phrases.dates)
                    words = frozenset(range(child.i, last + 1))
                    title = Named(self.phrases.text(child.i, last).strip(" .,"), child.i, words, False, "role")
                    for source in sources:
                        yield from self._fact(clause, "has_role", source, title, kind="start")

    def _liked_doings(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        """ "likes hiking", "loves to paint landscapes"."""
        relation = next((s.relation for s in SAYINGS.get(clause.lemma, ()) if s.relation in _FEELINGS), None)
        for doing in clause.verb.children if relation else ():
            if doing.dep_ == "xcomp" and doing.tag_ in ("VBG", "VB", "NN"):
                tree = [t.i for t in doing.subtree if t.i >= doing.i and t.i not in self.phrases.dates]
                name = self.phrases.text(doing.i, tree[-1])
                target = Named(name, doing.i, frozenset({*tree, *(t.i for t in doing.subtree)}), False, "activity")
                for source in sources:
                    yield from self._fact(clause, relation or "", source, target)

    def _chosen(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        """ "decided to go with FastAPI": only a decision makes "go with" mean use."""
        if clause.lemma == "go" and clause.verb.dep_ == "xcomp" and clause.verb.head.lemma_ in ("decide", "choose"):
            for target in (n for head in clause.slot("with") for n in self.phrases.all_named(head)):
                users = [n for head in clause.slot("for") if (n := self.phrases.named(head))] or sources
                for source in users:
                    yield from self._fact(replace(clause, tense="present"), "uses", source, target, kind="start")

    def _jobs(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        """ "started a new job at Globex", "has an office in Utrecht"."""
        for noun in clause.slot("obj"):
            begins = clause.lemma in ("start", "begin", "get", "take", "accept", "land", "find")
            if noun.lemma_ in JOBS and clause.lemma in ("start", "begin", "get", "take", "accept", "land", "have", "quit", "leave", "find", "lose"):
                kind: Kind = "start" if begins else "state" if clause.lemma == "have" else "end"
                yield from self._placed(clause, sources, "works_at", ("at", "with", "from"), kind, noun)
                yield from self._placed(clause, sources, "has_role", ("as",), kind, noun)
            if noun.lemma_ in _OWN_PLACE and clause.lemma in ("have", "open", "run"):
                yield from self._placed(clause, sources, "located_in", ("in",), "state", noun)

    def _placed(
        self, clause: Clause, sources: list[Named], relation: str, slots: tuple[str, ...], kind: Kind, noun: Token
    ) -> Iterator[Fact]:
        for head in (h for slot in slots for first in clause.slot(slot) for h in listed(first)):
            target = self.phrases.named(head)
            if target is not None and (target.proper or relation == "has_role"):
                for source in sources:
                    for fact in self._fact(clause, relation, source, target, kind=kind):
                        yield replace(fact, words=fact.words | {noun.i})

    def _mutual(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        """ "Tara and Sven got married": two subjects that are each other's target."""
        relation = MUTUAL.get(clause.lemma)
        if relation and len(sources) == 2 and not clause.slot("obj") and not clause.slot("to"):
            kind: Kind = "end" if clause.lemma == "divorce" else "event" if relation == "met" else "start"
            yield from self._fact(clause, relation, sources[0], sources[1], kind=kind)

    def _denied(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        """What a denial says all the same: who doesn't drink coffee avoids it."""
        for saying in SAYINGS.get(clause.lemma, ()):
            relation = _DENIED.get(saying.relation)
            if relation and clause.tense == "present" and saying.slot == "obj" and not clause.passive:
                for target in (n for head in clause.slot("obj") for n in self.phrases.all_named(head)):
                    for source in sources:
                        yield from self._fact(clause, relation, source, target)

    def _habit(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        """ "Ravi smokes", "used to smoke", "quit smoking"."""
        verb, kind = clause.verb, "state"

        if clause.lemma in STOPS and (done := clause.slot("obj")) and done[0].lower_.endswith("ing"):
            verb, kind = done[0], "end"
        habitual = clause.status == "over" or (clause.tense == "present" and clause.lemma in _HABITS)
        if (habitual or kind == "end") and not self._goes_on(verb):
            target = Named(verb.lower_ if verb.tag_ == "VBG" else verb.lemma_, verb.i, frozenset({verb.i}))
            for source in sources:
                yield from self._fact(clause, "does", source, target, kind="end" if kind == "end" else "state")

    def _goes_on(self, verb: Token) -> bool:
        more = (c for c in verb.children if c.dep_ in ("dobj", "prep", "attr", "xcomp", "ccomp"))
        return any(t.i not in self.phrases.dates for c in more for t in c.subtree)

    def _by_date(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        """ "The contract expires on 1 July": all that is said of a thing is its day."""
        if clause.lemma not in _BY_DATE or clause.status != "stated" or clause.slot("obj") or clause.slot("attr") or not clause.dates:
            return
        found = clause.dates[0]
        date = found.resolve(self.now, clause.tense)
        verb = clause.lemma if clause.passive else _present(clause.verb)
        relation = f"{clause.verb.lower_ if clause.passive or clause.tense == 'past' else verb}_on"
        for source in sources:
            if date and source.name != USER:
                target = Named(found.phrase, clause.verb.i, frozenset(), False, "date")
                relation = "born_on" if clause.lemma == "bear" else relation
                yield Fact(source, relation, target, Period(date), source.words | {clause.verb.i})

    def _itself(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        """A verb of no row says itself: "paints landscapes", "maintained by Kim"."""
        if clause.lemma in VAGUE_VERBS or clause.lemma in SAYINGS and clause.slot("obj") or not clause.verb.text.isalpha():
            return
        if clause.verb.pos_ != "VERB" or not clause.verb.text.isascii() or clause.verb.dep_ in ("relcl", "advcl", "acl", "pcomp"):
            return
        yield from self._by_agent(clause, sources) if clause.passive else self._plainly(clause, sources)

    def _plainly(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        relation = clause.verb.lower_ if clause.tense == "past" else _present(clause.verb)
        kind: Kind = "event" if clause.tense == "past" and clause.status != "over" else "state"
        slots = [("", head) for head in clause.slot("obj")] or _prepositional(clause.verb)
        for preposition, head in slots[:1]:
            for target in self.phrases.all_named(head):
                for source in sources:
                    name = f"{relation}_{preposition}" if preposition else relation
                    yield from self._fact(clause, name, source, target, kind=kind)

    def _by_agent(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        for agent in (n for head in clause.slot("by") for n in self.phrases.all_named(head)):
            for source in sources:
                relation = clause.verb.lower_ if clause.tense == "past" else _present(clause.verb)
                yield from self._fact(clause, relation, agent, source, kind="event")
        if not clause.slot("by"):
            for preposition, head in _prepositional(clause.verb)[:1]:
                for target in self.phrases.all_named(head):
                    for source in sources:
                        name = f"{clause.verb.lower_}_{preposition}"
                        yield from self._fact(clause, name, source, target, kind="event")

    def _ended_before(self, clause: Clause, before: list[Fact]) -> list[Fact]:
        """ "…, but he quit in 2020": gives its date to the fact before it that is over; nothing new is said."""
        if clause.lemma not in STOPS or clause.slot("obj") or not before or not before[-1].ended:
            return []
        if any(c.dep_ in ("xcomp", "ccomp") for c in clause.verb.children):
            return []
        held = period(clause, "end", self.now)
        last = before[-1]
        if held and [s.name for s in self._sources(clause)] == [last.source.name]:
            before[-1] = replace(last, period=replace(last.period, end=held.end), words=last.words | {clause.verb.i})
            return [before[-1]]
        return []

    def _described(self, clauses: Sequence[Clause]) -> Iterator[Fact]:
        """What a phrase says by the way: "my sister Anna", "Dr. Patel, my dentist", "after eight years at Philips"."""
        for token in self.sentence:
            if token.lower_ in NOUNS or token.lemma_ in NOUNS:
                yield from self._described_by(token)
            if is_role(token.lower_) and token.dep_ in ("compound", "appos"):
                yield from self._titled(token)
            if token.lemma_ in ("year", "month", "decade") and token.dep_ == "pobj" and token.head.lower_ == "after":
                yield from self._years_at(token, clauses)

    def _titled(self, noun: Token) -> Iterator[Fact]:
        """ "our CTO Felix", "Mara, a nurse at Charité"."""
        name = self._name_beside(noun)
        if name is None or noun.lower_ in NOUNS or name.words == {noun.i}:
            return
        if (of := self._employer(noun)) is not None:
            yield Fact(name, "role_at", of, Period(), name.words | of.words | {noun.i})
            return
        title = self.phrases.named(noun) if noun.dep_ == "appos" else None
        title = title or Named(noun.text, noun.i, frozenset({noun.i}))
        yield Fact(name, "has_role", title, Period(), name.words | title.words)
        for place in objects_of(noun, "at", "for"):
            if (employer := self.phrases.named(place)) and employer.proper:
                yield Fact(name, "works_at", employer, Period(), name.words | employer.words)

    def _described_by(self, noun: Token) -> Iterator[Fact]:
        holder, name = noun, self._name_beside(noun)
        if noun.dep_ == "compound":
            holder = noun.head
        if name is None or (owner := self._owner_of(noun, holder)) is None:
            return
        relation, end = NOUNS.get(noun.lower_) or NOUNS[noun.lemma_]
        source, target = (name, owner) if end == "source" else (owner, name)
        yield Fact(source, relation, target, Period(), source.words | target.words | {noun.i})

    def _owner_of(self, noun: Token, holder: Token) -> Named | None:
        poss = next((c for c in holder.children if c.dep_ == "poss"), None)
        if poss is None and noun.head.lemma_ in ("have", "adopt") and noun.dep_ == "dobj":
            return None
        return self.phrases.named(poss) if poss is not None else None

    def _name_beside(self, noun: Token) -> Named | None:
        """The name that goes with a noun such as "sister": after it, before it, or in apposition."""
        if noun.dep_ == "compound" and noun.head.pos_ == "PROPN" and describes(noun.head, noun):
            return self.phrases.named(noun.head)
        if noun.dep_ == "appos" and noun.head.pos_ == "PROPN":
            return self.phrases.named(noun.head)
        given = self.phrases.called(noun)
        return self.phrases.named(noun) if given is not None else None

    def _years_at(self, years: Token, clauses: Sequence[Clause]) -> Iterator[Fact]:
        clause = next((c for c in clauses if c.verb.i == years.head.head.i), None)
        if clause is None or clause.status == "unsure":
            return
        for place in objects_of(years, "at", "with"):
            target = self.phrases.named(place)
            for source in self._sources(clause):
                if target and target.proper:
                    words = source.words | target.words | {years.i, *(t.i for t in years.children)}
                    yield Fact(source, "works_at", target, Period(None, self.now.isoformat()), words)


def _employment(saying: Saying, source: Named, target: Named, noun: str) -> str | None:
    if noun in GROUPS:
        return "member_of"
    if saying.kind == "end" and looks_like_place(target.name):
        return "lives_in"
    named_place = target.proper or saying.slot in ("at", "for")
    if not named_place or noun in _NOT_AN_EMPLOYER or noun in JOBS or looks_like_organisation(source.name):
        return None
    return "works_at"


def _possession(noun: str, target: Named) -> str | None:
    if noun in JOBS or noun in _OWN_PLACE or noun in ("lunch", "dinner", "breakfast", "time", "fun", "look", "idea", "plan"):
        return None
    relation, end = NOUNS.get(noun, ("", ""))
    if relation == "owns":
        return "owns"
    if relation == "parent_of" and end == "target" and target.proper:
        return "parent_of"
    return relation if end == "source" and target.proper and relation.endswith(("_of", "_to")) else "has"


def _prepositional(verb: Token) -> list[tuple[str, Token]]:
    return [
        (prep.lower_, head)
        for prep in verb.children
        if prep.dep_ == "prep" and prep.lower_ not in ("during", "like", "because", "without", "than", "by", "before")
        for head in prep.children
        if head.dep_ == "pobj" and head.pos_ in ("NOUN", "PROPN")
    ]


def _present(verb: Token) -> str:
    """The third person of a verb: "teach" to "teaches"."""
    lemma = verb.lemma_.lower()
    if lemma.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{lemma}es"
    return f"{lemma[:-1]}ies" if lemma.endswith("y") and lemma[-2:-1] not in "aeiou" else f"{lemma}s"

