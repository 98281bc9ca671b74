"""What a sentence says by the way: "my sister Anna", "Dr. Patel, my dentist", "after eight years at Philips"."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from gligabao_mcp.providers.local.clauses import Clause
from gligabao_mcp.providers.local.facts import Fact, Period
from gligabao_mcp.providers.local.phrases import Named, Phrases, describes, is_employer, is_former, listed, objects_of
from gligabao_mcp.providers.local.reading import Token
from gligabao_mcp.providers.local.relations import NOUNS
from gligabao_mcp.providers.local.vocabulary import is_role


@dataclass(frozen=True, slots=True)
class Asides:
    """Reads what the phrases of one sentence say beside its verbs. `sources` gives the named subjects of a clause."""

    phrases: Phrases
    sources: Callable[[Clause], list[Named]]
    now: datetime

    def facts(self, clauses: Sequence[Clause]) -> Iterator[Fact]:
        """The facts that the phrases carry; the clauses say whose years somewhere are over."""
        for token in self.phrases.sentence:
            if token.lower_ in NOUNS or token.lemma_ in NOUNS:
                yield from self._described_by(token)
            if is_role(token.lower_) and token.dep_ in ("compound", "appos"):
                yield from self._titled(token)
            if token.lemma_ in ("year", "month", "decade") and token.dep_ == "pobj" and token.head.lower_ == "after":
                yield from self._years_at(token, clauses)

    def _titled(self, noun: Token) -> Iterator[Fact]:
        """ "our CTO Felix", "Mara, a nurse at Charité"."""
        name = self._name_beside(noun)
        one_of_many = noun.dep_ == "appos" and any(c.lower_ in ("a", "an") for c in noun.children)
        if name is None or (noun.lower_ in NOUNS and not one_of_many) or name.words == frozenset({noun.i}):
            return
        if (of := employer_of(self.phrases, noun)) is not None:
            yield Fact(name, "role_at", of, Period(), name.words | of.words | {noun.i})
            return
        title = self.phrases.named(noun) if noun.dep_ == "appos" else None
        title = title or Named(self.phrases.text(noun.i, noun.i), noun.i, frozenset({noun.i}))
        yield Fact(name, "has_role", title, Period(), name.words | title.words)
        for place in objects_of(noun, "at", "for"):
            if (employer := self.phrases.named(place)) and employer.proper:
                yield Fact(name, "works_at", employer, Period(), name.words | employer.words)

    def _described_by(self, noun: Token) -> Iterator[Fact]:
        holder, name = noun, self._name_beside(noun)
        if noun.head.pos_ == "PROPN" and describes(noun.head, noun):
            holder = noun.head
        if name is None or (owner := self._owner_of(noun, holder)) is None:
            return
        relation, end = NOUNS.get(noun.lower_) or NOUNS[noun.lemma_]
        for named in (name, *self._more_names(noun)):
            source, target = (named, owner) if end == "source" else (owner, named)
            yield Fact(source, relation, target, self._held(noun, holder), source.words | target.words | {noun.i})

    def _more_names(self, noun: Token) -> list[Named]:
        """ "my two kids, Leo and Mia": those after the first."""
        given = self.phrases.called(noun) if noun.tag_ == "NNS" else None
        others = list(listed(given))[1:] if given is not None else []
        return [n for other in others if (n := self.phrases.named(other)) is not None]

    def _held(self, *nouns: Token) -> Period:
        return Period(None, self.now.isoformat()) if any(map(is_former, nouns)) else Period()

    def _owner_of(self, noun: Token, holder: Token) -> Named | None:
        poss = next((c for c in holder.children if c.dep_ == "poss"), None)
        if poss is None and noun.head.lemma_ in ("have", "adopt") and noun.dep_ == "dobj":
            return None
        return self.phrases.named(poss) if poss is not None else None

    def _name_beside(self, noun: Token) -> Named | None:
        """The name that goes with a noun such as "sister": after it, before it, or in apposition."""
        if noun.head.pos_ == "PROPN" and noun.i < noun.head.i and describes(noun.head, noun):
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
            for source in self.sources(clause):
                if target and target.proper:
                    words = source.words | target.words | {years.i, *(t.i for t in years.children)}
                    yield Fact(source, "works_at", target, Period(None, self.now.isoformat()), words)


def employer_of(phrases: Phrases, title: Token) -> Named | None:
    """Whose title it is: "CFO of Initech"; nobody's in "head of design"."""
    if title.lower_ in ("head", "lead") or not is_role(title.lower_):
        return None
    of = ((phrases.named(place), place) for place in objects_of(title, "of"))
    return next((named for named, place in of if named and is_employer(named, place)), None)
