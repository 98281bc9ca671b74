"""What questions are about, by their words: which relations answer them, and which words an answer may use instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gligabao_mcp.providers.local.relations import is_role


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


_ROLE_WORDS = "role job work position title promoted officer head chief"
# how it is asked | relations | words of an answer | "loose" where other facts may answer as well
_TABLE = r"""
where\b.*\b(?:liv|home|house|resid|stay|based|located|hosted)|\bhome\b|\baddress|\bhabite\b|\bwohnt\b | lives_in located_in rents hosted_on stored_in | liv rent flat apartment house mov home based located headquarter street these\ days runs\ on | strict
where\b.*\b(?:work|job|employ)|\bemployer|\bwork(?:s|ing)? (?:for|at)\b|\bwhich company | works_at role_at runs founded volunteers_at | work job join office teach compan hospital start leav | strict
\bjob|\brole\b|\btitle|\bposition\b|\bprofession|\boccupation|\bfor a living|\bc[a-z]o\b|\bcareer | has_role role_at works_at | {roles} | strict
\bboss|\bmanager|\bsupervisor|\breports? to\b|\bline manager | reports_to manages leads | boss manager supervis report lead manag | strict
\bwife|\bhusband|\bspouse|\bmarri|\bpartner\b|\bfianc|\bgirlfriend|\bboyfriend | married_to engaged_to partner_of | wife husband spouse marri engag partner fianc girlfriend boyfriend wedding divorc | strict
\bmothers?\b|\bfathers?\b|\bmom\b|\bdad\b|\bparents?\b | parent_of | mother father mom dad mum parent | strict
\bchild|\bkids?\b|\bsons?\b|\bdaughters? | parent_of | child kid son daughter twin baby | strict
\bbrothers?\b|\bsisters?\b|\bsiblings? | sibling_of | brother sister sibling twin | strict
\bpets?\b | owns has keeps | dog cat pet puppy kitten horse parrot rabbit hamster fish | strict
\bcar\b|\bvehicle|\bdrives? | drives owns | car driv volvo toyota tesla golf bmw audi ford van bike motorbike | strict
\blanguages?\b.*\bspeak|\bspeaks?\b | speaks | speak fluent language bilingual | strict
\ballerg|\bintoleran|\bnot eat\b|\bdiet | allergic_to is_a avoids | allerg intoleran eat vegetarian vegan gluten diet | strict
\bborn\b|\bbirthday|\bbirthplace|\bdate of birth | born_on born_in | born birthday | strict
\bhow old|\bage\b | has_age born_on born_in | years\ old age born birthday | strict
\be-?mail | has_email | mail @ | strict
\bphone|\btelephone|\bcall (?:him|her|me) | has_phone | phone number mobile | strict
\bstud(?:y|ies|ied)|\buniversity|\bcollege|\bdegree|\bgraduat|\balma mater | studied studies studied_at studies_at studies_in graduated_from attended | stud universit college degree graduat school | strict
\bsalary|\bearns?\b|\bpaid\b | earns | salar earn paid wage | strict
\bpassword | has_password | password | strict
\bdeadline|\bdue\b | due_on scheduled_for | deadline due deliver\w* must\ be by\ the before | strict
\bframework|\blibrary|\btools?\b|\bdatabase|\boperating system|\beditor|\btech stack|\bprogramming language | uses written_in built_with hosted_on stores_data_in | use run written built | loose
\bown\b|\bowns\b|\bbelong | owns runs founded has | own bought run found | loose
\bprice|\bcosts?\b|\brent\b|\bhow much | costs amounts_to pays | cost price pa(?:y|id) euros? dollars? rent rais | loose
\bfounded|\bfounder | founded | found start | strict
\ballowed|\bavoid|\bdislike|\bhate | dislikes avoids | hate dislike avoid not n't never | loose
\bwhen\b | scheduled_for with happens_on due_on born_on | (?:mon|tues|wednes|thurs|fri|satur|sun)day \d next tomorrow today week month | loose
"""


def _topics() -> tuple[Topic, ...]:
    return tuple(_topic(*(cell.strip() for cell in re.split(r"\s\|\s", line))) for line in _TABLE.strip().splitlines())


def _topic(asked: str, relations: str, told: str, strict: str) -> Topic:
    words = told.replace("{roles}", _ROLE_WORDS)
    pattern = "|".join(rf"(?<!\w){word}" for word in re.split(r"(?<!\\) ", words))
    return Topic(
        re.compile(asked, re.IGNORECASE),
        frozenset(relations.split()),
        re.compile(pattern, re.IGNORECASE),
        strict == "strict",
    )


TOPICS = _topics()
_JOB = TOPICS[2]


def topics_of(question: str) -> tuple[Topic, ...]:
    """The topics that a question's words ask about."""
    return tuple(t for t in TOPICS if t.asked.search(question))


def speaks_of(topic: Topic, relation: str, text: str) -> bool:
    """Whether a fact speaks of the topic; what somebody is called at work also counts for a job."""
    return topic.answered_by(relation, text) or (topic is _JOB and any(map(is_role, re.findall(r"[a-z]{4,}", text))))
