"""What a phrase names: a person, the user, a thing; under which name, and which words of the sentence say so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from gligabao_mcp.providers.local.reading import Sentence, Token
from gligabao_mcp.providers.local.relations import NOUNS
from gligabao_mcp.providers.local.tables import word_set
from gligabao_mcp.providers.local.vocabulary import GROUPS, PETS, ROLES, is_role

USER = "user"
_FIRST = word_set("i me we us my our mine ours myself ourselves")
_HE_OR_SHE = word_set("he she him her his hers")
_NOBODY = word_set(
    "it they them their its this that these those who whom which what someone somebody anyone anybody everyone"
    " everybody nobody something anything everything nothing one there you your none all others"
)
# Adjectives that say nothing of which thing is meant.
_PALE = word_set("new own current former certain whole entire next last same other brand-new great")
BODIES = word_set(
    "company firm startup business department school bank hospital university college city country agency museum"
    " library factory church clinic institute foundation charity village office region province"
)
_NAMING = word_set("call name title nickname dub entitle")
_LEADING = frozenset({"PUNCT", "DET", "PRON", "CCONJ", "ADP", "PART"})
_BEFORE = word_set("compound amod nummod nmod npadvmod quantmod punct poss case advmod")


@dataclass(frozen=True, slots=True)
class Named:
    """Something with a name. `words` are the tokens that say it, `head` the one that the grammar hangs on."""

    name: str
    head: int
    words: frozenset[int]
    proper: bool = False
    type: str = ""


@dataclass(slots=True)
class Context:
    """Who "he" or "she" may be, as the sentences of a text go by. Two people in one sentence leave it open."""

    person: str | None = None
    used: set[str] = field(default_factory=set[str])

    def remember(self, people: Iterable[str]) -> None:
        """Takes the people that a sentence names; one that names nobody keeps those before it."""
        named = {p for p in people if p != USER}
        if named:
            self.person = named.pop() if len(named) == 1 else None


@dataclass(frozen=True, slots=True)
class Phrases:
    """The phrases of one sentence. `dates` are the tokens of its date phrases: they name nothing."""

    sentence: Sentence
    context: Context
    dates: frozenset[int]
    original: str
    """The sentence as it was written: other words may have been parsed in place of some."""

    def named(self, token: Token) -> Named | None:
        """What the phrase with this head names, or None: a pronoun nobody is known for, a date, "no team"."""
        word = token.lower_
        if token.i in self.dates or word in _NOBODY:
            return None
        if word in _FIRST:
            return Named(USER, token.i, frozenset({token.i}), True, "person")
        if word in _HE_OR_SHE:
            return self._person(token)
        if token.pos_ == "PRON" or any(c.lower_ in ("no", "any", "every", "which") for c in token.children):
            return None
        return self._noun(token)

    def all_named(self, token: Token, *, either: bool = False) -> Iterator[Named]:
        """What a list names, each: "Danish, German and Portuguese". "Rome or Oslo" names nothing for sure: only with
        `either` (after "not") each of it."""
        if not either and any(c.dep_ == "cc" and c.lower_ == "or" for part in listed(token) for c in part.children):
            return
        parts = list(listed(token))
        kin = token.tag_ == "NNS" and token.lemma_ in NOUNS and all(p.pos_ == "PROPN" for p in parts[1:])
        for part in parts[1:] if kin and parts[1:] else parts:  # "two children, Leo and Mia" are Leo and Mia
            if named := self.named(part):
                numbers = (c.i for c in token.children if c.dep_ == "nummod")
                yield replace(named, head=token.i, words=named.words | {token.i, *numbers}) if kin else named

    def owner(self, token: Token) -> Named | None:
        """Whose it is: "my dog", "Liam's mother", "the mother of Liam"."""
        for child in token.children:
            if child.dep_ == "poss":
                return self.named(child)
        return next((self.named(p) for p in objects_of(token, "of")), None)

    def called(self, token: Token) -> Token | None:
        """The token of the name that a common noun is given: "a startup called Volta", "my sister Anna"."""
        if (missed := missed_name(token)) is not None:
            return missed
        for child in token.children:
            if child.dep_ in ("acl", "relcl") and child.lemma_ in _NAMING:
                return next((c for c in child.children if c.dep_ in ("oprd", "attr", "dobj") and c.i > child.i), None)
            titled = token.pos_ == "NOUN" or is_role(token.text)
            if child.dep_ == "appos" and titled and child.pos_ == "PROPN":
                return child
        return None

    def text(self, start: int, end: int) -> str:
        """The text of the tokens from start to end, both included."""
        last = self.sentence[end]
        return self.original[self._place(self.sentence[start].idx) : self._place(last.idx + len(last.text))]

    def _place(self, at: int) -> int:
        """Where in the original it is: equally far from the start, else, behind what was replaced, from the end."""
        parsed = self.sentence.text
        return at if self.original[:at] == parsed[:at] else at + len(self.original) - len(parsed)

    def _person(self, token: Token) -> Named | None:
        before = [t for t in self.sentence if t.i < token.i and t.dep_ in ("nsubj", "nsubjpass")]
        names = {n.name for t in before if t.pos_ in ("PROPN", "NOUN") and (n := self._noun(t)) and n.proper}
        if not names:  # "Had dinner with Ann, she's moving …"
            others = [t for t in self.sentence if t.i < token.i and t.ent_type_ == "PERSON" and t.dep_ == "pobj"]
            names = {n.name for t in others if (n := self._noun(t))}
        if not names and self.context.person:
            names = {self.context.person}
            self.context.used |= names
        if len(names) != 1:
            return None
        name = names.pop()
        return Named(name, token.i, frozenset({token.i}), True)

    def _noun(self, token: Token) -> Named | None:
        if (given := self.called(token)) and given.i != token.i:
            inner = self.named(given)
            outer = frozenset(w for w in self._span(token))
            return inner and Named(inner.name, token.i, inner.words | outer, True, _type_of(token))
        words = self._span(token)
        name = self.text(words[0], words[-1]).strip(" ,;:'\"“”()")
        if words[-1] == len(self.sentence) - 1:
            name = name.rstrip(".")
        proper = _is_proper(token) or not name.isascii() or self._whose(token) is not None
        described = next((c for c in token.children if c.dep_ == "compound" and describes(token, c)), None)
        type_ = _type_of(described) if described is not None else ""
        return Named(name, token.i, frozenset(words), proper, type_) if any(map(str.isalnum, name)) else None

    def _span(self, token: Token) -> list[int]:
        """The tokens of the name: compounds, adjectives and numbers before the noun, a number and "of …" after it."""
        start = token.i
        for child in reversed([c for c in token.children if c.i < token.i]):
            if child.dep_ not in _BEFORE or not self._belongs(token, child):
                break
            start = min(t.i for t in child.subtree)
        bare = _LEADING if self._whose(token) is None else _LEADING - {"PRON"}
        while start < token.i and self.sentence[start].pos_ in bare:
            start += 1
        end = token.i
        for child in token.children:
            if (
                child.i == end + 1
                and child.dep_ in ("nummod", "punct")
                and (child.text[0].isalnum() or child.text == "-")
            ):
                end = child.i
        if (number := stray_number(token)) is not None:
            end = number.i
        for place in objects_of(token, "of"):
            if place.i not in self.dates:
                end = max(end, self._span(place)[-1])
        return list(range(start, end + 1))

    def _belongs(self, noun: Token, child: Token) -> bool:
        if child.lower_ in _PALE or child.i in self.dates or describes(noun, child):
            return False
        if child.dep_ == "poss":
            return self._whose(noun) is not None
        return child.dep_ != "advmod" and not (child.pos_ == "PUNCT" and child.text != "-")

    def _whose(self, noun: Token) -> Token | None:
        """The owner that is part of the name: "Liam's mother" and "my sister" have no other name."""
        for child in noun.children:
            if child.dep_ == "poss" and (
                (child.pos_ != "PRON" and _is_proper(child)) or (child.lower_ in _FIRST and noun.lemma_ in NOUNS)
            ):
                return child
        return None


def listed(token: Token) -> Iterator[Token]:
    """The token and those that "and" or a comma joins to it."""
    yield token
    for child in token.children:
        denied = any(c.lower_ in ("not", "than") for c in (*child.children, *token.children) if token.i < c.i < child.i)
        if child.dep_ == "conj" and child.pos_ not in ("VERB", "AUX") and not denied:
            yield from listed(child)


def objects_of(token: Token, *prepositions: str) -> list[Token]:
    """What stands after one of the prepositions that hang on the token."""
    return [
        pobj
        for prep in token.children
        if prep.dep_ in ("prep", "agent", "dative") and prep.lower_ in prepositions
        for pobj in prep.children
        if pobj.dep_ in ("pobj", "pcomp")
    ]


def _is_proper(token: Token) -> bool:
    """Whether the noun is a name. The parser takes many a first name at the start of a sentence for a common noun."""
    begins = token.i == 0 and token.tag_ not in ("PRP", "VBG", "DT") and token.text[0].isupper()
    labelled = token.ent_type_ in ("PERSON", "ORG", "GPE")
    singular = token.tag_ != "NNS" or token.head.tag_ == "VBZ" or token.dep_ == "poss" or labelled
    inside = token.i > 0 and token.pos_ in ("NOUN", "X") and token.text[0].isupper()
    return token.pos_ == "PROPN" or inside or (begins and singular and token.dep_ in ("nsubj", "nsubjpass", "poss"))


def is_employer(named: Named, token: Token) -> bool:
    """Whether something can have somebody in a role: a name, or a common noun for a body of people."""
    return named.proper or token.lemma_.lower() in GROUPS or token.lemma_.lower() in BODIES


def stray_number(name: Token) -> Token | None:
    """The number right after a name that the parser took for an object of its own: "PostgreSQL 15"."""
    beside = (c for c in name.head.children if c.i == name.i + 1 and c.dep_ == name.dep_ == "dobj")
    return next((c for c in beside if c.pos_ == "NUM" and name.pos_ == "PROPN"), None)


def missed_name(noun: Token) -> Token | None:
    """The name right after a noun that the parser took for a second subject: "My cat Milo is a …"."""
    if noun.pos_ != "NOUN" or noun.dep_ not in ("nsubj", "nsubjpass"):
        return None
    others = (c for c in noun.head.children if c.dep_ == noun.dep_ and c.pos_ == "PROPN" and c.i > noun.i)
    return next((c for c in others if min(t.i for t in c.subtree) == noun.i + 1), None)


def is_former(noun: Token) -> bool:
    """Whether it is said to be so no more: "my former boss"."""
    return any(c.lower_ in ("former", "previous", "onetime", "erstwhile") for c in noun.children)


def describes(noun: Token, word: Token) -> bool:
    """Whether a word before a name says who that is ("my dog Rex", "the singer Adele") and is no part of it."""
    if any(c.dep_ == "compound" and c.pos_ == "PROPN" and c.i < word.i for c in noun.children):
        return False  # "Tesla Model Y"
    common = word.dep_ in ("compound", "nmod", "amod") and (word.text.islower() or word.lower_ in ROLES)
    return (
        noun.pos_ == "PROPN" and not noun.text.islower() and common and (word.lower_ in NOUNS or is_role(word.lower_))
    )


def _type_of(noun: Token) -> str:
    word = noun.lower_
    if word in PETS:
        return "animal"
    return "person" if is_role(word) or NOUNS.get(word, ("", ""))[0].endswith("_of") else ""
