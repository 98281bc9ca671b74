"""The typed facts that a parsed sentence states, by the tables of relations.py."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from gligabao_mcp.providers.local.asides import Asides, employer_of
from gligabao_mcp.providers.local.clauses import STOPS, Clause
from gligabao_mcp.providers.local.copulas import copula_facts
from gligabao_mcp.providers.local.facts import Fact, Period, period
from gligabao_mcp.providers.local.fitting import OWN_PLACES, Ends, fitting
from gligabao_mcp.providers.local.phrases import USER, Named, Phrases, listed
from gligabao_mcp.providers.local.reading import Sentence, Token
from gligabao_mcp.providers.local.relations import MUTUAL, NOUNS, SAYINGS, SYMMETRIC, VAGUE_VERBS, Kind, Saying
from gligabao_mcp.providers.local.tables import word_set
from gligabao_mcp.providers.local.vocabulary import DEGREES, JOBS, MEETINGS, is_role

_HABITS = word_set(
    "smoke drink run swim ski sing dance paint cook climb cycle knit meditate surf hike bake jog fish garden box row"
    " skate volunteer commute gamble vape"
)
_BY_DATE = word_set(
    "start begin end close open expire launch ship release die retire finish arrive leave cancel postpone publish"
    " complete approve sign deliver deploy bear happen found establish come-out schedule"
)
_PREPOSITIONS = word_set("about at for from in into of on onto over through to under with within across against")
_ONCE = {
    "bear": "born_on",
    "found": "founded_on",
    "establish": "founded_on",
    "come-out": "released_on",
    "schedule": "scheduled_for",
}
_JOB_VERBS: Mapping[str, Kind] = {
    **dict.fromkeys(("start", "begin", "get", "take", "accept", "land", "find"), "start"),
    **dict.fromkeys(("quit", "leave", "lose"), "end"),
    "have": "state",
}
_HOLDS = word_set("have hold get earn receive complete finish do")
_ARRANGES = word_set("have schedule book plan arrange organise organize set-up")
_FEELINGS = frozenset({"likes", "dislikes", "prefers"})
_DENIED = {"likes": "dislikes", "tolerates": "dislikes", "drinks": "avoids", "eats": "avoids", "uses": "avoids"}


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
        found += Asides(self.phrases, self._sources, self.now).facts(clauses)
        unique = {(*_ends(f), f.relation, f.period): f for f in reversed(found)}
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
        return (
            facts
            or [*self._habit(clause, sources), *self._by_date(clause, sources)]
            or list(self._itself(clause, sources))
        )

    def _sources(self, clause: Clause) -> list[Named]:
        if any(
            (t.i and self.sentence[t.i - 1].lower_ == "not")
            or any(c.lower_ in ("neither", "nor", "or", "either") for c in t.children)
            for t in clause.subjects
        ):
            return []
        if clause.diary:
            return [Named(USER, clause.verb.i, frozenset(), True, "person")]
        return [named for token in clause.subjects if (named := self.phrases.named(token))]

    def _said(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        if kin := list(self._called(clause)):
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
                elif owner and owner.name == USER and is_role(noun.lower_) and (title := self.phrases.named(noun)):
                    yield from self._fact(clause, "has_role", name, title)

    def _facts(self, clause: Clause, saying: Saying, sources: list[Named], target: Named) -> Iterator[Fact]:
        head = self.sentence[target.head]
        if saying.relation == "has_role" and (of := employer_of(self.phrases, head)) is not None:
            for source in sources:
                yield from self._fact(clause, "role_at", source, of, kind=saying.kind)
            return
        for source in sources:
            ends = (target, source) if saying.inverse else (source, target)
            heads = (self.sentence[ends[0].head], self.sentence[ends[1].head])
            if relation := fitting(Ends(clause, saying, *ends, heads)):
                yield from self._fact(clause, relation, *ends, kind=saying.kind)

    def _fact(
        self, clause: Clause, relation: str, source: Named, target: Named, *, kind: Kind = "state"
    ) -> Iterator[Fact]:
        if (held := period(clause, kind, self.now)) is not None:
            yield Fact(source, relation, target, held, source.words | target.words | {clause.verb.i})

    def _promoted(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        """ "promoted to head of design": a title that the parser takes for a verb."""
        if clause.lemma in ("promote", "appoint", "name", "elect") and clause.passive:
            for child in clause.verb.children:
                if child.dep_ != "xcomp":
                    continue
                last = max(t.i for t in child.subtree if t.i not in self.phrases.dates)
                if child.lemma_ in ("head", "lead", "chair", "direct", "manage") or is_role(self.sentence[last].lower_):
                    words = frozenset(range(child.i, last + 1))
                    title = Named(self.phrases.text(child.i, last).strip(" .,"), child.i, words, False, "role")
                    for source in sources:
                        yield from self._fact(clause, "has_role", source, title, kind="start")

    def _liked_doings(self, clause: Clause, sources: list[Named], *, denied: bool = False) -> Iterator[Fact]:
        """ "likes hiking", "loves to paint landscapes"."""
        relation = next((s.relation for s in SAYINGS.get(clause.lemma, ()) if s.relation in _FEELINGS), None)
        relation = _DENIED.get(relation or "") if denied else relation
        for doing in clause.verb.children if relation and not clause.slot("obj") else ():
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
            if noun.lemma_ in JOBS and (kind := _JOB_VERBS.get(clause.lemma)):
                yield from self._placed(clause, sources, "works_at", ("at", "with", "from"), kind, noun)
                yield from self._placed(clause, sources, "has_role", ("as",), kind, noun)
            if noun.lemma_ in OWN_PLACES and clause.lemma in ("have", "open", "run"):
                opened: Kind = "start" if clause.lemma == "open" else "state"
                yield from self._placed(clause, sources, "located_in", ("in",), opened, noun)
            if noun.lemma_.lower() in DEGREES and clause.lemma in _HOLDS:
                yield from self._placed(clause, sources, "studied", ("in", "of"), "event", noun)
                yield from self._placed(clause, sources, "studied_at", ("from", "at"), "event", noun)
            if noun.lemma_ in ("allergy", "intolerance") and clause.lemma in _HOLDS:
                yield from self._placed(clause, sources, "allergic_to", ("to",), "state", noun)
                yield from self._allergies(clause, sources, noun)
            if noun.lemma_ in MEETINGS and clause.lemma in _ARRANGES:
                yield from self._placed(clause, sources, "has_meeting_with", ("with",), "event", noun)

    def _allergies(self, clause: Clause, sources: list[Named], noun: Token) -> Iterator[Fact]:
        """ "has a peanut allergy"."""
        for child in noun.children:
            if child.dep_ == "compound" and (target := self.phrases.named(child)) is not None:
                for source in sources:
                    for fact in self._fact(clause, "allergic_to", source, target):
                        yield replace(fact, words=fact.words | {noun.i})

    def _placed(
        self, clause: Clause, sources: list[Named], relation: str, slots: tuple[str, ...], kind: Kind, noun: Token
    ) -> Iterator[Fact]:
        for head in (h for slot in slots for first in clause.slot(slot) for h in listed(first)):
            target = self.phrases.named(head)
            if target is not None and (target.proper or relation in ("has_role", "studied", "allergic_to")):
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
                for target in (n for head in clause.slot("obj") for n in self.phrases.all_named(head, either=True)):
                    for source in sources:
                        yield from self._fact(clause, relation, source, target)
        if clause.tense == "present":
            yield from self._liked_doings(clause, sources, denied=True)

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
        if (
            clause.lemma not in _BY_DATE
            or clause.status != "stated"
            or clause.slot("obj")
            or clause.slot("attr")
            or not clause.dates
            or any(c.dep_ == "xcomp" for c in clause.verb.children)
        ):
            return
        found = clause.dates[0]
        date = found.resolve(self.now, clause.tense)
        verb = clause.lemma if clause.passive else _present(clause.verb)
        relation = f"{clause.verb.lower_ if clause.passive or clause.tense == 'past' else verb}_on"
        for source in sources:
            if date and source.name != USER:
                target = Named(found.phrase, clause.verb.i, frozenset(), False, "date")
                relation = _ONCE.get(clause.lemma, relation)
                yield Fact(source, relation, target, Period(date), source.words | {clause.verb.i})

    def _itself(self, clause: Clause, sources: list[Named]) -> Iterator[Fact]:
        """A verb of no row says itself: "paints landscapes", "maintained by Kim"."""
        vague = clause.lemma.split("-")[0] in VAGUE_VERBS or (clause.lemma in SAYINGS and clause.slot("obj"))
        english = clause.verb.pos_ == "VERB" and clause.verb.text.isalpha() and clause.verb.text.isascii()
        if vague or not english or clause.verb.dep_ in ("relcl", "advcl", "acl", "pcomp"):
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


def _ends(fact: Fact) -> tuple[str, ...]:
    ends = (fact.source.name, fact.target.name)
    return tuple(sorted(ends)) if fact.relation in SYMMETRIC else ends


def _prepositional(verb: Token) -> list[tuple[str, Token]]:
    return [
        (prep.lower_, head)
        for prep in verb.children
        if prep.dep_ == "prep" and prep.lower_ in _PREPOSITIONS
        for head in prep.children
        if head.dep_ == "pobj" and head.pos_ in ("NOUN", "PROPN")
    ]


def _present(verb: Token) -> str:
    """The third person of a verb: "teach" to "teaches"."""
    lemma = verb.lemma_.lower()
    if lemma.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{lemma}es"
    return f"{lemma[:-1]}ies" if lemma.endswith("y") and lemma[-2:-1] not in "aeiou" else f"{lemma}s"
