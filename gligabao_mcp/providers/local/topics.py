"""What questions are about, by their words: which relations answer them, and which words an answer may use instead."""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.graph import Edge
from gligabao_mcp.providers.local.dates import MONTHS
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
    r"\bcareer|\bberuf|\bmétier|\bprofesión",
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
        r"\bwife|\bhusband|\bspouse|\bmarri|\bmarry|\bpartner\b|\bfianc|\bgirlfriend|\bboyfriend",
        "married_to engaged_to partner_of",
        r"wife husband spouse marri engag partner fianc girlfriend boyfriend wedding divorc propos split",
    ),
    _topic(
        r"\bmothers?\b|\bfathers?\b|\bmom\b|\bdad\b|\bparents?\b",
        "parent_of",
        r"mother father mom dad mum parent",
    ),
    _topic(
        r"\bchild|\bkids?\b|\bsons?\b|\bdaughters?|\bbab(?:y|ies)\b|\bpregnan",
        "parent_of",
        r"child kid son daughter twin baby expecting pregnan",
    ),
    _topic(
        r"\bbrothers?\b|\bsisters?\b|\bsiblings?",
        "sibling_of",
        r"brother sister sibling twin",
    ),
    _topic(
        r"\bpets?\b|\b(?:dog|cat)s?\b",
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
        r"deadline due deliver\w* must\ be by\ (?:the|mon|tue|wed|thu|fri|sat|sun|next|\d) before",
    ),
    _topic(
        r"\bframework|\blibrary|\btools?\b|\btracker|\bsoftware|\bplatform|\bdatabase|\boperating system|\beditor|"
        r"\btech stack|"
        r"\bprogramming language",
        "uses written_in built_with hosted_on stores_data_in",
        r"use run written built went\ with go\ with chose decided switch migrat instead\ of"
        r" dropped moved\ to everything\ is\ in",
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
        r"(?:mon|tues|wednes|thurs|fri|satur|sun)day (?:19|20)\d\d \d{1,2}(?:st|nd|rd|th) \d\d?[:.]\d\d next last"
        r" tomorrow yesterday today week month year " + " ".join(rf"\d*\ ?{month}" for month in MONTHS),
        strict=False,
    ),
    _topic(
        r"\bwhat time\b|\bat which hour",
        "",
        r"\d\d?[:.]\d\d \d\d?\ ?[ap]\.?m o'clock noon midnight",
    ),
    _topic(
        r"\bfavou?rite",
        "likes prefers",
        r"favou?rite lov like best prefer enjoy",
    ),
    _topic(
        r"\bhow tall|\bheight",
        "measures",
        r"tall height cm centimet met(?:er|re) feet",
    ),
    _topic(
        r"\bweigh",
        "weighs",
        r"weigh kg kilo pounds",
    ),
    _topic(
        r"\bblood (?:type|group)",
        "",
        r"blood",
    ),
    _topic(
        r"\breligio|\bchurch",
        "",
        r"religio church catholic protestant muslim jewish buddhist hindu christian atheist",
    ),
    _topic(
        r"\bwhere\b.*\bcomes? from\b|\bwhere (?:is|are|am|was|were) \S+(?: \S+)? (?:originally )?from\b|\bhometown",
        "comes_from born_in grew_up_in",
        r"from born grew native",
    ),
    _topic(
        r"\binstrument",
        "plays",
        r"play piano guitar violin cello drum flute sitar",
    ),
    _topic(
        r"\bstand(?:s|ing)? in for|\bcover(?:s|ing)? for|\breplac|\bdeput|\bsubstitut",
        "replaces",
        r"cover replac deput substitut stand instead successor takes\ over",
        strict=False,
    ),
    _topic(
        r"\bwhat (?:does|do|did) \S+(?: \S+)? do\b(?! (?:on|in|at|when|about|for fun))",
        "has_role role_at works_at runs leads manages teaches studies works_on founded does plays",
        r"job work role runs? own teach",
        strict=False,
    ),
    _topic(
        r"\b(?:which|what) (?:team|department|group|squad)",
        "member_of works_in works_on leads manages",
        r"team department group squad is\ on is\ in accounting marketing sales finance engineering support legal hr\b",
        strict=False,
    ),
    _topic(
        r"\bvacation|\bholidays?\b|\bgetaway",
        "travels_to visited visits",
        r"vacation holiday trip travel fl(?:y|ight|ies) beach leave off (?:we|i|he|she|they)?(?:'ll|\ will)\ be\ in",
    ),
    _topic(
        r"\beat\b|\bfood|\bcook(?:ing)?\b|\bmeals?\b",
        "eats drinks avoids dislikes likes allergic_to is_a follows_diet",
        r"eat food cook meal recipe allerg vegan vegetarian gluten meat salt sugar diet",
        strict=False,
    ),
    _topic(
        r"\bdoctor|\bphysician|\bdentist",
        "doctor_of dentist_of gp_of",
        r"doctor dr\b dentist physician gp\b",
    ),
    _topic(
        r"\binvest|\bfunded|\bfunding",
        "invests_in",
        r"invest fund rais",
        strict=False,
    ),
)


def topics_of(question: str) -> tuple[Topic, ...]:
    """The topics that a question's words ask about."""
    return tuple(t for t in TOPICS if t.asked.search(question))


def speaks_of(topic: Topic, edge: Edge) -> bool:
    """Whether a fact speaks of the topic; what somebody is called at work also counts for a job."""
    return topic.answered_by(edge.relation, edge.as_text) or (topic is _JOB and _says_a_role(edge))


def _says_a_role(edge: Edge) -> bool:
    """In a note, words with a capital may be a job as well, as in German; a name such as Fischer is none."""
    words = re.findall(r"\b[^\W\d_]{4,}\b", edge.as_text)
    noted = edge.relation == "noted"
    return any(is_role(w) for w in words if w.islower() or (noted and w not in edge.source))
