"""What questions are about, by their words: which relations answer them, and which words an answer may use instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gligabao_mcp.providers.local.vocabulary import is_role


@dataclass(frozen=True, slots=True)
class Topic:
    """A kind of question. A `strict` one is answered by its relations or words alone: a phone number is no birthday."""

    asked: re.Pattern[str]
    relations: frozenset[str]
    told: re.Pattern[str]
    strict: bool = True

    def answered_by(self, relation: str, text: str) -> bool:
        """Whether a fact speaks of this topic."""
        return relation in self.relations or bool(self.told.search(text))


def _topic(asked: str, relations: str, told: str, *, strict: bool = True) -> Topic:
    """A topic by how it is asked, the relations that answer it, and how words of an answer begin."""
    beginnings = "|".join(rf"(?<!\w){word}" for word in re.split(r"(?<!\\) ", told))
    return Topic(
        re.compile(asked, re.IGNORECASE), frozenset(relations.split()), re.compile(beginnings, re.IGNORECASE), strict
    )


_JOB = _topic(
    r"\bjob|\brole\b|\btitle|\bposition\b|\bprofession|\boccupation|\bfor a living|\bc[a-z]o\b|"
    r"\bcareer",
    "has_role role_at works_at",
    r"role job work position title promoted officer head chief",
)
TOPICS = (
    _topic(
        r"where\b.*\b(?:liv|home|house|resid|stay|based|located|hosted)|\bhome\b|\baddress|\bhabite\b|"
        r"\bwohnt\b",
        "lives_in located_in rents hosted_on stored_in",
        r"liv rent flat apartment house mov home based located headquarter street these\ days runs\ on",
    ),
    _topic(
        r"where\b.*\b(?:work|job|employ)|\bemployer|\bwork(?:s|ing)? (?:for|at)\b|\bwhich company",
        "works_at role_at runs founded volunteers_at",
        r"work job join office teach compan hospital start leav",
    ),
    _JOB,
    _topic(
        r"\bboss|\bmanager|\bsupervisor|\breports? to\b|\bline manager",
        "reports_to manages leads",
        r"boss manager supervis report lead manag",
    ),
    _topic(
        r"\bwife|\bhusband|\bspouse|\bmarri|\bpartner\b|\bfianc|\bgirlfriend|\bboyfriend",
        "married_to engaged_to partner_of",
        r"wife husband spouse marri engag partner fianc girlfriend boyfriend wedding divorc",
    ),
    _topic(
        r"\bmothers?\b|\bfathers?\b|\bmom\b|\bdad\b|\bparents?\b",
        "parent_of",
        r"mother father mom dad mum parent",
    ),
    _topic(
        r"\bchild|\bkids?\b|\bsons?\b|\bdaughters?",
        "parent_of",
        r"child kid son daughter twin baby",
    ),
    _topic(
        r"\bbrothers?\b|\bsisters?\b|\bsiblings?",
        "sibling_of",
        r"brother sister sibling twin",
    ),
    _topic(
        r"\bpets?\b",
        "owns has keeps",
        r"dog cat pet puppy kitten horse parrot rabbit hamster fish",
    ),
    _topic(
        r"\bcar\b|\bvehicle|\bdrives?",
        "drives owns",
        r"car driv volvo toyota tesla golf bmw audi ford van bike motorbike",
    ),
    _topic(
        r"\blanguages?\b.*\bspeak|\bspeaks?\b",
        "speaks",
        r"speak fluent language bilingual",
    ),
    _topic(
        r"\ballerg|\bintoleran|\bnot eat\b|\bdiet",
        "allergic_to is_a avoids",
        r"allerg intoleran eat vegetarian vegan gluten diet",
    ),
    _topic(
        r"\bborn\b|\bbirthday|\bbirthplace|\bdate of birth",
        "born_on born_in",
        r"born birthday",
    ),
    _topic(
        r"\bhow old|\bage\b",
        "has_age born_on born_in",
        r"years\ old age born birthday",
    ),
    _topic(
        r"\be-?mail",
        "has_email",
        r"mail @",
    ),
    _topic(
        r"\bphone|\btelephone|\bcall (?:him|her|me)",
        "has_phone",
        r"phone number mobile",
    ),
    _topic(
        r"\bstud(?:y|ies|ied)|\buniversity|\bcollege|\bdegree|\bgraduat|\balma mater",
        "studied studies studied_at studies_at studies_in graduated_from attended",
        r"stud universit college degree graduat school",
    ),
    _topic(
        r"\bsalary|\bearns?\b|\bpaid\b",
        "earns",
        r"salar earn paid wage",
    ),
    _topic(
        r"\bpassword",
        "has_password",
        r"password",
    ),
    _topic(
        r"\bdeadline|\bdue\b",
        "due_on scheduled_for",
        r"deadline due deliver\w* must\ be by\ the before",
    ),
    _topic(
        r"\bframework|\blibrary|\btools?\b|\bdatabase|\boperating system|\beditor|\btech stack|"
        r"\bprogramming language",
        "uses written_in built_with hosted_on stores_data_in",
        r"use run written built",
        strict=False,
    ),
    _topic(
        r"\bown\b|\bowns\b|\bbelong",
        "owns runs founded has",
        r"own bought run found",
        strict=False,
    ),
    _topic(
        r"\bprice|\bcosts?\b|\brent\b|\bhow much",
        "costs amounts_to pays",
        r"cost price pa(?:y|id) euros? dollars? rent rais",
        strict=False,
    ),
    _topic(
        r"\bfounded|\bfounder",
        "founded",
        r"found start",
    ),
    _topic(
        r"\ballowed|\bavoid|\bdislike|\bhate",
        "dislikes avoids",
        r"hate dislike avoid not n't never",
        strict=False,
    ),
    _topic(
        r"\bwhen\b",
        "scheduled_for with happens_on due_on born_on",
        r"(?:mon|tues|wednes|thurs|fri|satur|sun)day \d next tomorrow today week month",
        strict=False,
    ),
)


def topics_of(question: str) -> tuple[Topic, ...]:
    """The topics that a question's words ask about."""
    return tuple(t for t in TOPICS if t.asked.search(question))


def speaks_of(topic: Topic, relation: str, text: str) -> bool:
    """Whether a fact speaks of the topic; what somebody is called at work also counts for a job."""
    return topic.answered_by(relation, text) or (topic is _JOB and any(map(is_role, re.findall(r"[a-z]{4,}", text))))
