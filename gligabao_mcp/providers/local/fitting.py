"""Which relation a saying gives once it is known what stands at its two ends: "left Lisbon" is no change of job."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gligabao_mcp.providers.local.clauses import Clause
from gligabao_mcp.providers.local.phrases import BODIES, Named
from gligabao_mcp.providers.local.reading import Token
from gligabao_mcp.providers.local.relations import NOUNS, Saying
from gligabao_mcp.providers.local.tables import word_set
from gligabao_mcp.providers.local.vocabulary import (
    ACTIVITIES,
    DEGREES,
    GROUPS,
    JOBS,
    MEETINGS,
    PETS,
    is_lasting,
    is_role,
    looks_like_organisation,
    looks_like_place,
)

OWN_PLACES = word_set("practice office headquarters base branch shop studio clinic factory warehouse plant")
_NOT_AN_EMPLOYER = word_set("home night weekends weekend day moment office desk scratch")
_NOT_HAD = word_set("allergy intolerance lunch dinner breakfast time fun look idea plan")
_NOT_YET: Mapping[str, str] = {"visited": "visits", "met": "meets", "attended": "attends"}


class Ends:
    """The two ends of a saying in its clause: the relation's source and target, and the tokens they hang on."""

    def __init__(
        self, clause: Clause, saying: Saying, source: Named, target: Named, heads: tuple[Token, Token]
    ) -> None:
        self.clause, self.saying, self.source, self.target = clause, saying, source, target
        self.subject, self.object = heads
        self.noun = self.object.lemma_.lower()


def fitting(ends: Ends) -> str | None:
    """The relation, as its two ends have it; None where they don't fit it."""
    by_relation = _FITTING.get(ends.saying.relation)
    return by_relation(ends) if by_relation else ends.saying.relation


def _role(ends: Ends) -> str | None:
    if is_lasting(ends.object.text):  # "became vegan"
        return "is_a"
    return "has_role" if is_role(ends.noun) or not (ends.target.proper or ends.noun in NOUNS) else None


def _employment(ends: Ends) -> str | None:
    kind, slot = ends.saying.kind, ends.saying.slot
    if ends.noun in GROUPS and kind != "state":
        return "member_of"
    if kind == "end" and looks_like_place(ends.target.name):
        return "lives_in"
    named = ends.source.proper and (ends.target.proper or slot in ("at", "for"))
    if not named or ends.noun in _NOT_AN_EMPLOYER | JOBS or looks_like_organisation(ends.source.name):
        return None
    return "works_at"


def _residence(ends: Ends) -> str | None:
    if moved := ends.clause.slot("obj"):  # "moved its headquarters to Ghent"
        return "located_in" if moved[0].lemma_ in OWN_PLACES else None
    place = looks_like_place(ends.target.name) or ends.object.ent_type_ == "GPE"
    place = place or ends.object.ent_type_ in ("LOC", "FAC")
    group = ends.subject.lower_ in ("we", "us") or ends.subject.lemma_ in GROUPS
    if group and not place and ends.clause.lemma in ("move", "migrate", "return"):
        return "uses" if ends.saying.kind != "state" else None
    thing = not ends.source.proper or looks_like_organisation(ends.source.name)
    return "located_in" if thing else "lives_in"


def _studies(ends: Ends) -> str | None:
    relation = ends.saying.relation
    if ends.clause.tense != "present" or ends.clause.perfect:
        return relation
    if relation == "studied_at" and looks_like_place(ends.target.name):
        return "studies_in"
    return relation.replace("studied", "studies")


def _ownership(ends: Ends) -> str | None:
    lemma = ends.clause.lemma
    if lemma == "sell" and ends.clause.verb.tag_ in ("VBZ", "VBP"):  # a trade, not the end of having
        return None
    if lemma == "buy" and _is_bare_name(ends.object):
        return "acquired"
    if lemma == "adopt" and ends.noun not in PETS and not ends.target.type:
        return "uses" if ends.target.proper else "adopted"
    return "owns"


def _is_bare_name(head: Token) -> bool:
    """A name with nothing before it: "bought Initech" is a takeover, "bought a Tesla" is not."""
    return head.pos_ == "PROPN" and not any(c.dep_ in ("det", "amod", "poss", "nummod") for c in head.children)


def _founding(ends: Ends) -> str | None:
    if ends.clause.lemma == "start" and not (ends.target.proper and ends.noun in BODIES):
        return None
    return "founded"


def _takeover(ends: Ends) -> str | None:
    if ends.clause.lemma == "sell" and not (ends.source.proper and _is_bare_name(ends.object)):
        return "owns"
    return "leads" if ends.clause.lemma == "take-over" and not ends.target.proper else "acquired"


def _replacement(ends: Ends) -> str | None:
    return None if ends.clause.slot("with") and not ends.clause.passive else "replaces"


def _use(ends: Ends) -> str | None:
    """ "Replaced MongoDB with Postgres" ends a use; "the new app replaced the old one" doesn't."""
    if ends.clause.lemma not in ("replace", "swap"):
        return "uses"
    instead = ends.clause.slot("with") or ends.clause.slot("for")
    return "uses" if instead and ends.target.proper and not ends.target.type else None


def _journey(ends: Ends) -> str | None:
    if not ends.target.proper:
        return None
    return "visited" if ends.clause.tense == "past" else "travels_to"


def _gain(ends: Ends) -> str | None:
    return "owns" if NOUNS.get(ends.noun, ("", ""))[0] == "owns" else None


def _possession(ends: Ends) -> str | None:
    noun, proper = ends.noun, ends.target.proper
    if noun in JOBS | OWN_PLACES | DEGREES | _NOT_HAD or (noun in MEETINGS and ends.clause.slot("with")):
        return None
    relation, end = NOUNS.get(noun, ("", ""))
    if relation == "owns" or (relation == "parent_of" and end == "target" and proper):
        return relation
    return relation if end == "source" and proper and relation.endswith(("_of", "_to")) else "has"


def _playing(ends: Ends) -> str | None:
    return "plays_in" if ends.noun in GROUPS or ends.target.proper else None


def _activity(ends: Ends) -> str | None:
    return "does" if ends.noun in ACTIVITIES or ends.clause.lemma != "do" else None


def _age(ends: Ends) -> str | None:
    return "has_age" if ends.object.pos_ == "NUM" and ends.source.proper else None


def _following(ends: Ends) -> str:
    return "follows_diet" if ends.noun == "diet" else "supports"


def _meeting(ends: Ends) -> str | None:
    relation = ends.saying.relation
    return relation if ends.clause.tense == "past" else _NOT_YET[relation]


_FITTING: Mapping[str, Callable[[Ends], str | None]] = {
    "has_role": _role,
    "works_at": _employment,
    "lives_in": _residence,
    "studied": _studies,
    "studied_at": _studies,
    "owns": _ownership,
    "acquired": _takeover,
    "founded": _founding,
    "replaces": _replacement,
    "uses": _use,
    "travels_to": _journey,
    "gets": _gain,
    "has": _possession,
    "plays_in": _playing,
    "visited": _meeting,
    "met": _meeting,
    "attended": _meeting,
    "does": _activity,
    "has_age": _age,
    "supports": _following,
}
