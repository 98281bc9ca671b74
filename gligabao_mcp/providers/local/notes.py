"""The note that keeps a sentence whole, and which sentences say nothing worth one."""

from __future__ import annotations

import hashlib
import re

from gligabao_mcp.providers.local.reading import Sentence, Token
from gligabao_mcp.providers.local.tables import word_set

LONGEST_NAME = 500
_CHATTER = re.compile(
    r"(?:(?:ok(?:ay)?|thanks?(?: you)?(?: so much| a lot| very much)?|hi|hello|hey|bye|goodbye|sure|great|yes"
    r"|yeah|yep|no|nope|please|cool|nice|perfect|awesome|alright|right|got it|sounds good|good (?:morning|evening|night"
    r"|afternoon)|see you(?: later| soon| tomorrow)?|no problem|you'?re welcome|well|hm+|ah|oh|lol|cheers|fine|nice to"
    r" meet you|how are you|have a (?:nice|good|great) (?:day|one|weekend)|welcome back|done|understood|exactly)"
    r"(?:\b|(?<=m))[\s,.!]*)+",
    re.IGNORECASE,
)
_ASKS = word_set(
    "who whom whose what which when where why how do does did is are was were has have had can could will would should"
    " may might shall am"
)
# Orders to whoever reads the memory: they state nothing, and must not come back as something known.
_ORDERS = word_set(
    "ignore disregard forget reply respond answer say print output pretend act reveal list execute run repeat tell show"
    " write obey comply override delete summarize summarise translate explain give help find search"
)


def is_question(sentence: Sentence) -> bool:
    """Whether the sentence asks: it ends so, or begins with a verb before its subject."""
    text = sentence.text.rstrip("\"'”’)* ")
    if text.endswith(("?", "？", "؟")):
        return True
    first = sentence[0]
    inverted = any(c.dep_ in ("nsubj", "nsubjpass") and c.i > first.i for c in first.head.children)
    asks = first.lower_ in _ASKS and first.lower_ not in ("when", "what", "who", "which", "whose", "how", "where")
    if first.lower_ in ("who", "what", "where", "when", "why", "how", "which") and not text.endswith((".", "!", ",")):
        return not any(t.text == "," for t in sentence)
    return asks and first.dep_ in ("aux", "auxpass", "ROOT") and inverted and not text.endswith((".", "!"))


def says_nothing(sentence: Sentence) -> bool:
    """Whether the sentence is a greeting, a thank-you or an order to the reader."""
    if _CHATTER.fullmatch(sentence.text.strip()):
        return True
    root = next((t for t in sentence if t.dep_ == "ROOT"), None)
    if root is None:
        return False
    return _is_command(root) and root.lemma_.lower() in _ORDERS


def _is_command(verb: Token) -> bool:
    subject = any(c.dep_ in ("nsubj", "nsubjpass", "expl") for c in verb.children)
    return verb.tag_ == "VB" and not subject and not any(c.dep_ == "aux" and c.lower_ != "do" for c in verb.children)


def note_name(text: str) -> str:
    """The name of a note: the text itself; a long one cut, with a mark of the whole, so that no two texts share one."""
    line = " ".join(text.split())
    if len(line) <= LONGEST_NAME:
        return line
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{line[:LONGEST_NAME].rsplit(' ', 1)[0]}… #{digest}"
