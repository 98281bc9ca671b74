"""The statements inside a sentence: who does what, when, and whether it is said to be so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gligabao_mcp.providers.local.dates import Found, Tense
from gligabao_mcp.providers.local.phrases import listed, missed_name, stray_number
from gligabao_mcp.providers.local.reading import Sentence, Token
from gligabao_mcp.providers.local.relations import SAYINGS
from gligabao_mcp.providers.local.tables import word_set

Status = Literal["stated", "denied", "over", "unsure"]
_BADNESS: dict[Status, int] = {"stated": 0, "over": 1, "denied": 2, "unsure": 3}

# Verbs whose "that" clause is passed on as said ("she told me she's leaving"); what one thinks may be wrong.
REPORTS = word_set(
    "say tell mention hear know announce confirm learn remember note explain report see find notice realize realise"
    " show remind discover write inform recall state add reveal"
)
# Verbs whose "to" or "-ing" clause happens: "started working", "decided to go with", "used to".
GOES_ON = word_set("decide start begin continue keep manage use go come get happen choose end")
# What these lead to holds from then on: "decided to use", "started working".
_BEGINS = word_set("decide choose start begin come get")
STOPS = word_set("quit stop cease finish")
_DOUBT = word_set(
    "maybe perhaps possibly probably allegedly supposedly almost nearly hopefully likely apparently reportedly"
    " presumably"
)
_MODALS = word_set("may might could would should must can shall ought need")
_ABILITIES = word_set("speak play swim drive cook ski sing dance read write")
_LENGTHS = word_set("year month week day decade")
# What the small model gets wrong.
_LEMMAS = {
    "hat": "hate",
    "liv": "live",
    "bas": "base",
    "married": "marry",
    "divorced": "divorce",
    "engaged": "engage",
    "cofounded": "cofound",
    "cofounde": "cofound",
}
_OPEN = word_set("if whether unless until once before till lest")


@dataclass(frozen=True, slots=True)
class Clause:
    """One statement. `slots` gives what stands as object (`obj`), complement (`attr`) or after a preposition; a missing
    subject that can only be the speaker ("Had lunch with …") is `diary`."""

    verb: Token
    lemma: str
    subjects: tuple[Token, ...]
    status: Status
    tense: Tense
    perfect: bool
    passive: bool
    diary: bool
    dates: tuple[Found, ...] = ()

    def slot(self, name: str) -> list[Token]:
        """The heads that stand there."""
        if name == "obj":
            objects = [c for c in self.verb.children if c.dep_ in ("dobj", "obj")]
            numbers = {n.i for c in objects if (n := stray_number(c)) is not None}
            return [c for c in objects if c.i not in numbers] or self._missed_object()
        if name == "attr":
            return [c for c in self.verb.children if c.dep_ in ("attr", "acomp", "oprd") or self._is_second_subject(c)]
        return list(_after(self.verb, name))

    def _is_second_subject(self, child: Token) -> bool:
        return child.dep_ == "nsubj" and child.i > self.verb.i and child not in self.subjects

    def _missed_object(self) -> list[Token]:
        """A rare word right after a verb that needs an object, which the parser took for an adverb or so."""
        if not any(s.slot == "obj" for s in SAYINGS.get(self.lemma, ())):
            return []
        strays = ("advmod", "acomp", "npadvmod", "nmod", "punct", "dep")
        return [
            c
            for c in self.verb.children
            if c.i == self.verb.i + 1 and c.dep_ in strays and c.pos_ in ("ADJ", "NOUN", "PROPN", "X", "NUM")
        ]


def clauses(sentence: Sentence, dates: Sequence[Found]) -> list[Clause]:
    """The statements of a sentence, in order."""
    verbs = [t for t in sentence if _heads_a_clause(t)]
    dated = _dates_by_verb(sentence, dates, {v.i for v in verbs})
    return [_clause(verb, _dates_of(verb, dated)) for verb in verbs]


def _clause(verb: Token, dates: tuple[Found, ...]) -> Clause:
    subjects = tuple(s for token in _subjects(verb) for s in listed(token))
    tense = _tense(verb)
    return Clause(
        verb=verb,
        lemma=_lemma(verb),
        subjects=subjects,
        status=_status(verb),
        tense=tense,
        perfect=any(c.dep_ == "aux" and c.lemma_ == "have" for c in verb.children),
        passive=_passive(verb),
        diary=not subjects and _governor(verb) is None and verb.tag_ == "VBD" and _opens(verb),
        dates=dates,
    )


def _lemma(verb: Token) -> str:
    """The verb's base form, with its particle where that makes another verb: "take-over"."""
    lemma = _LEMMAS.get(verb.lemma_.lower(), verb.lemma_.lower())
    particle = next((f"{lemma}-{c.lower_}" for c in verb.children if c.dep_ == "prt"), lemma)
    return particle if particle in SAYINGS or particle in ("come-out", "take-up") else lemma


def _opens(verb: Token) -> bool:
    """Whether nothing but an adverb or a date stands before the verb."""
    return verb.i == 0 or all(c.dep_ in ("advmod", "npadvmod", "prep") for c in verb.children if c.i < verb.i)


def _heads_a_clause(token: Token) -> bool:
    if token.pos_ not in ("VERB", "AUX") or token.dep_ in ("aux", "auxpass", "amod", "compound"):
        return token.dep_ == "ROOT" and bool(_own_subjects(token))
    return not (token.dep_ == "acl" and any(c.dep_ == "oprd" for c in token.children))


def _passive(verb: Token) -> bool:
    if any(c.dep_ in ("auxpass", "nsubjpass", "agent") for c in verb.children):
        return True
    if verb.dep_ == "acomp" and verb.tag_ == "VBN":
        return True
    if verb.tag_ == "VBN" and verb.dep_ == "conj" and not any(c.dep_ == "nsubj" for c in verb.children):
        return not any(c.dep_ == "aux" for c in verb.children) and _passive(verb.head)
    return verb.dep_ in ("acl", "advcl") and verb.tag_ == "VBN" and not any(c.dep_ == "aux" for c in verb.children)


def _governor(verb: Token) -> Token | None:
    """The verb that the clause hangs on, or None for the main one."""
    token = verb
    while token.dep_ != "ROOT":
        token = token.head
        if token.pos_ in ("VERB", "AUX") or token.dep_ == "ROOT":
            return token
    return None


def _own_subjects(verb: Token) -> list[Token]:
    subjects = ("compound", "nmod", "amod") if _is_disguised(verb) else ("nsubj", "nsubjpass")
    found = [c for c in verb.children if c.dep_ in subjects]
    helpers = [c for c in verb.children if c.dep_ in ("aux", "auxpass")]
    found = found or [c for helper in helpers for c in helper.children if c.dep_ in ("nsubj", "nsubjpass")]
    found = [c for c in found if c.i < verb.i and missed_name(c) is None] or found
    return found[-1:] if _is_disguised(verb) else found


def _is_disguised(token: Token) -> bool:
    """A verb in -s that the parser took for a plural, or its subject for an adjective: "Maya studies at …"."""
    before = [c for c in token.children if c.dep_ in ("compound", "nmod", "amod") and c.i < token.i]
    said_of = any(c.dep_ == "det" for c in token.children) and any(c.dep_ == "prep" for c in token.children)
    named = bool(before) and (before[-1].text.istitle() or said_of)
    known = token.lemma_ in SAYINGS or token.lemma_ in ("ship", "start", "end", "play", "visit")
    return (
        token.dep_ == "ROOT"
        and token.tag_ in ("NNS", "VBZ")
        and known
        and named
        and not any(c.dep_ in ("nsubj", "nsubjpass") for c in token.children)
    )


def _subjects(verb: Token) -> list[Token]:
    own = _own_subjects(verb)
    if verb.dep_ in ("relcl", "acl") and (not own or own[0].lower_ in ("who", "that", "which")):
        noun = verb.head
        return _subjects(noun.head) if noun.dep_ in ("attr", "acomp") and verb.dep_ == "acl" else [noun]
    if own or (governor := _governor(verb)) is None:
        return own
    return _subjects(governor)


def _status(verb: Token) -> Status:
    return _worse(_own_status(verb), _outer_status(verb))


def _worse(one: Status, other: Status) -> Status:
    return one if _BADNESS[one] >= _BADNESS[other] else other


def _own_status(verb: Token) -> Status:
    words = {c.lower_ for c in verb.children if c.dep_ in ("advmod", "neg", "npadvmod", "prep", "cc", "preconj")}
    if _is_unsure(verb, words):
        return "unsure"
    longer = any(t.lower_ == "longer" and any(c.lower_ == "no" for c in t.children) for t in _inside(verb))
    if longer or (words & {"not", "n't"} and _says_anymore(verb)):
        return "over"
    denied = any(c.dep_ == "neg" or c.lower_ in ("never", "neither", "hardly", "rarely") for c in verb.children)
    return "denied" if denied else "stated"


def _is_unsure(verb: Token, words: set[str]) -> bool:
    modals = {"can" if c.lower_ == "ca" else c.lemma_.lower() for c in verb.children if c.dep_ == "aux"} & _MODALS
    denied = any(c.dep_ == "neg" for c in verb.children) and verb.lemma_ in ("eat", "drink", "stand", "tolerate")
    if modals and not (modals == {"can"} and (verb.lemma_ in _ABILITIES or denied)):
        return True
    return bool(words & _DOUBT) or any(c.dep_ == "mark" and c.lower_ in _OPEN for c in verb.children)


def _says_anymore(verb: Token) -> bool:
    return any(
        t.lower_ == "anymore" or (t.lower_ == "more" and "any" in {c.lower_ for c in t.children}) for t in _inside(verb)
    )


def _inside(verb: Token) -> Iterator[Token]:
    return (t for c in verb.children if c.dep_ not in ("conj", "ccomp", "advcl", "relcl") for t in c.subtree)


def _outer_status(verb: Token) -> Status:
    """What the rest of the sentence says of the clause: "I think …", "she stopped …", "if …"."""
    head, link = verb.head, verb.dep_
    if link in ("relcl", "acl") and any(c.dep_ == "mark" or c.lower_ == "to" for c in verb.children if c.i < verb.i):
        return "unsure"  # "rumour has it that …", "his plan to move"
    if link == "ROOT" or link in ("relcl", "acl", "parataxis"):
        return "stated"
    if link == "conj":
        return _outer_status(head) if _own_subjects(verb) else _status(head)
    if link == "ccomp":
        return _ccomp_status(verb)
    if link == "acomp":  # "got engaged"
        return _status(head)
    if link == "xcomp":
        return _xcomp_status(verb)
    if link == "advcl":
        return _advcl_status(verb)
    if link == "pcomp":
        governor = _governor(verb)
        return _status(governor) if governor is not None and head.lower_ in ("after", "since", "by") else "unsure"
    return "stated" if head.pos_ in ("VERB", "AUX") and link == "dep" else "unsure"


def _ccomp_status(verb: Token) -> Status:
    head = verb.head
    beside = verb.i < head.i and any(verb.i < s.i for s in _own_subjects(head))
    if beside:  # "He used to live here, he's in Doha now.": two main clauses
        return "stated"
    return _status(head) if head.lemma_ in REPORTS else "unsure"


def _xcomp_status(verb: Token) -> Status:
    head = verb.head
    if head.lemma_ == "use" and head.tag_ in ("VBD", "VBN"):
        return _worse("over", _status(head))
    if head.lemma_ in STOPS:
        return _worse("over", _status(head))
    given_up = head.lemma_ == "go" and any(c.tag_ == "VBD" for c in head.children)  # "was going to move"
    return _status(head) if head.lemma_ in GOES_ON and not given_up else "unsure"


def _advcl_status(verb: Token) -> Status:
    marks = {c.lower_ for c in verb.children if c.dep_ in ("mark", "advmod")}
    if marks & {"because", "since", "while", "although", "though", "after", "as"}:
        return "stated"
    if "when" in marks and verb.tag_ not in ("VBD", "VBN"):
        return "unsure"
    return _status(verb.head)


def _tense(verb: Token) -> Tense:
    aux = [c for c in verb.children if c.dep_ in ("aux", "auxpass")]
    if any(c.lower_ in ("will", "'ll", "shall", "wo") for c in aux):
        return "future"
    if verb.dep_ == "xcomp" and verb.head.lemma_ == "go" and verb.head.tag_ == "VBG":
        return "future"
    if verb.dep_ == "xcomp" and verb.head.lemma_ in _BEGINS and _tense(verb.head) == "past":
        return "present"
    if verb.tag_ == "VBD" or any(c.tag_ == "VBD" for c in aux):
        return "past"
    if verb.tag_ in ("VBZ", "VBP") or any(c.tag_ in ("VBZ", "VBP") for c in aux):
        return "present"
    governor = _governor(verb)
    return (
        _tense(governor)
        if governor is not None
        else "past"
        if verb.tag_ in ("VBN", "JJ") or verb.lower_ in ("quit", "left")
        else "present"
    )


def _after(verb: Token, preposition: str) -> Iterator[Token]:
    """What stands after the preposition: on the verb, on another of its prepositions, or on its object."""
    near = [c for c in verb.children if c.dep_ in ("prep", "agent", "prt", "dative", "advmod")]
    places = [*near, *(c for p in near for c in p.children if c.dep_ == "prep")]
    nouns = [c for c in verb.children if c.dep_ in ("dobj", "attr", "oprd")]
    nouns += [o for p in places for o in p.children if o.dep_ == "pobj" and o.lemma_ not in _LENGTHS]
    places += [c for n in nouns for c in n.children if c.dep_ == "prep" and c.lower_ not in ("of",)]
    for place in dict.fromkeys(places):
        if place.lower_ == preposition:
            of = [p for p in place.children if place.lower_ == "out" and p.lower_ == "of"]
            found = [o for p in (place, *of) for o in p.children if o.dep_ in ("pobj", "attr", "dobj")]
            stray = [t for t in verb.subtree if t.i == place.i + 1 and t.dep_ in ("punct", "dep") and t.text.isalnum()]
            yield from found or stray


def _dates_by_verb(sentence: Sentence, dates: Sequence[Found], verbs: set[int]) -> dict[int, list[Found]]:
    found: dict[int, list[Found]] = {}
    for date in dates:
        token = next(t for t in sentence if t.idx + len(t.text) > date.start)
        while token.i not in verbs and token.dep_ != "ROOT":
            token = token.head
        found.setdefault(token.i, []).append(date)
    return found


def _dates_of(verb: Token, dated: dict[int, list[Found]]) -> tuple[Found, ...]:
    """The clause's own dates, else those of the clause it goes with: "sold the Golf and bought a Tesla in April"."""
    if own := dated.get(verb.i):
        return tuple(own)
    for child in verb.children:
        shared = child.dep_ in ("conj", "xcomp", "acomp") and child.pos_ in ("VERB", "AUX") and not _own_subjects(child)
        if shared and (theirs := dated.get(child.i)):
            return tuple(theirs)
    if verb.dep_ in ("conj", "xcomp", "acomp", "advcl", "pcomp") and (governor := _governor(verb)) is not None:
        return _dates_of_governor(governor, dated)
    return ()


def _dates_of_governor(governor: Token, dated: dict[int, list[Found]]) -> tuple[Found, ...]:
    return tuple(dated.get(governor.i, ())) or (
        _dates_of_governor(governor.head, dated) if governor.dep_ in ("conj", "xcomp") else ()
    )
