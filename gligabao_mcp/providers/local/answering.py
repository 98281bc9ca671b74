"""An answer made of remembered facts: the best ones, in sentences, with the ids they rest on, or "I don't know"."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from core.graph import Edge
from core.ports import Answer
from core.query.subgraph import Subgraph
from gligabao_mcp.providers.local.phrases import USER
from gligabao_mcp.providers.local.questions import Question, read_question, stems
from gligabao_mcp.providers.local.telling import tell
from gligabao_mcp.providers.local.topics import speaks_of

UNKNOWN = "I don't know: nothing I remember answers that."
# Cosines of MiniLM on the development gold. A shared name lifts any pair of sentences to about 0.5, so a name alone
# proves little; without one, what was no answer reached 0.37.
_NEAR = 0.25
_SURE = 0.40
# The fewer words a sentence has beside the name, the more of its cosine is the name's: by their number.
_SURE_OF_NAME = (0.78, 0.78, 0.62, 0.58, 0.55)
_SURE_OF_NAME_LONG = 0.50
# The same where the sentence holds the kind of thing that the question asks for: a number, a place, another name.
_SURE_OF_KIND = 0.42
_RELATED = 0.20
# A paraphrase without a common word ("Who got hurt?") reached 0.33 and lay 0.10 above the next sentence; what was no
# answer came this far only in questions that name somebody or ask about the user.
_STANDS_OUT, _MARGIN, _AMONG = 0.33, 0.10, 5
# Equal ranks lose first places here, since paraphrases share few words: benchmarks of the embedded engine.
_BY_MEANING, _BY_WORDS = 0.95, 0.05
_BONUS = 0.06
_CLOSE_TO_BEST = 0.85
_MOST = 3


@dataclass(frozen=True, slots=True)
class _Scored:
    """One remembered sentence with the facts read from it, best fact first, and how well it answers."""

    edges: tuple[Edge, ...]
    score: float
    cosine: float
    fits: bool
    near: bool


@dataclass(frozen=True, slots=True)
class _Ranker:
    asked: Question
    similarity: Mapping[int, float]
    weights: Mapping[str, float]
    now: datetime

    def scored(self, edges: Sequence[Edge]) -> _Scored:
        """The score of the facts of one sentence."""
        words = stems(" ".join((edges[0].as_text, *(f"{e.source} {e.target}" for e in edges))))
        shared = self._share(self.asked.words & words)
        cosine = self._cosine(edges, shared)
        on_topic = [e for e in edges if self._on_topic(e)]
        names = self._names_fit(edges, words)
        score = _BY_MEANING * cosine + _BY_WORDS * shared + self._bonus(edges, bool(on_topic))
        ordered = sorted(edges, key=lambda e: (e not in on_topic, not self.asked.held_then(e), *self._standing(e)))
        fits = names and self._fits(cosine, words, edges[0].as_text, bool(on_topic))
        return _Scored(tuple(ordered), score, cosine, fits, names and (cosine >= _RELATED or shared > 0))

    def _names_fit(self, edges: Sequence[Edge], words: frozenset[str]) -> bool:
        """Whether the sentence speaks of all whom the question names and somebody has told of; an answer to its topic
        ("Does Ana work at Acme?") may be about the first of them alone."""
        asked = self.asked
        if not asked.names or (asked.called and all(called & words for called in asked.called)):
            return True
        if not asked.called:
            return bool(asked.names & words)
        first = asked.called[0]
        return any(t.strict for t in asked.topics) and any(self._on_topic(e) and first & stems(e.source) for e in edges)

    def _fits(self, cosine: float, words: frozenset[str], text: str, on_topic: bool) -> bool:
        content = self.asked.content & words
        strict = any(t.strict for t in self.asked.topics)
        if on_topic or (self.asked.foreign and self.asked.names):  # another language shares nothing but names
            return cosine >= _NEAR
        if strict:
            return False
        beside = len(words - self.asked.names)
        of_name = _SURE_OF_NAME[beside] if beside < len(_SURE_OF_NAME) else _SURE_OF_NAME_LONG
        of_name = _SURE_OF_KIND if beside >= len(_SURE_OF_NAME) and self.asked.kind_is_in(text) else of_name
        return cosine >= (of_name if self.asked.names else _SURE) or (bool(content) and cosine >= _NEAR)

    def _standing(self, edge: Edge) -> tuple[bool, bool]:
        """What is over comes after what holds, unless the question asks for it; a note comes after a fact."""
        return _is_over(edge, self.now) != self.asked.about_over, edge.relation == "noted"

    def _on_topic(self, edge: Edge) -> bool:
        strict = [t for t in self.asked.topics if t.strict]
        return any(speaks_of(t, edge) for t in strict or self.asked.topics)

    def _cosine(self, edges: Sequence[Edge], shared: float) -> float:
        """The nearness in meaning. A fact that no vector found is as far as the last one that was; without vectors the
        words alone decide."""
        if not self.similarity:
            return shared
        known = [self.similarity[e.id] for e in edges if e.id in self.similarity]
        return max(known) if known else min(self.similarity.values())

    def _share(self, words: Iterable[str]) -> float:
        total = sum(self.weights.get(w, 1.0) for w in self.asked.words) or 1.0
        return sum(self.weights.get(w, 1.0) for w in words) / total

    def _bonus(self, edges: Sequence[Edge], on_topic: bool) -> float:
        asked = self.asked
        bonus = _BONUS if on_topic else 0.0
        bonus += 2 * _BONUS if any(map(asked.held_then, edges)) else 0.0
        bonus += 2 * _BONUS if asked.about_over and any(_is_over(e, self.now) for e in edges) else 0.0
        bonus += _BONUS if asked.about_user and any(USER in (e.source, e.target) for e in edges) else 0.0
        begins_later = all(e.valid_at > self.now and e.relation != "noted" for e in edges)
        return bonus - (2 * _BONUS if begins_later and not asked.about_future else 0.0)


def answer_from(question: str, subgraph: Subgraph, now: datetime) -> Answer:
    """One to three sentences from the facts that fit the question: what holds now, or what held when it asks of the
    past. What is over is told only where nothing else fits, and says until when it was so."""
    asked = read_question(question, subgraph.edges, now)
    for edges in (_of_the_time(asked, subgraph.edges, now), [e for e in subgraph.edges if e.live]):
        ranked = _ranked(asked, edges, subgraph.similarity, now)
        if fitting := [s for s in ranked if s.fits]:
            # Of a time that is named, only what held then is told, if anything did.
            then = [s for s in fitting if any(map(asked.held_then, s.edges))]
            return _told(then or fitting, now)
        if (lone := _standing_out(asked, ranked, subgraph.similarity)) is not None:
            return _told([lone], now)
    ranked = _ranked(asked, subgraph.edges, subgraph.similarity, now)
    near = next((s for s in ranked if s.near), None)
    return Answer(f"{UNKNOWN} Maybe related: {tell(near.edges[0], now)}" if near else UNKNOWN)


def _standing_out(asked: Question, ranked: Sequence[_Scored], similarity: Mapping[int, float]) -> _Scored | None:
    """The one sentence that is clearly nearer in meaning than all others, for a question that names nobody."""
    unsure = asked.names or asked.about_user or any(t.strict for t in asked.topics)
    if unsure or not similarity or len(ranked) < _AMONG:
        return None
    best, second = sorted(ranked, key=lambda s: -s.cosine)[:2]
    return best if best.cosine >= _STANDS_OUT and best.cosine - second.cosine >= _MARGIN else None


def _of_the_time(asked: Question, edges: Sequence[Edge], now: datetime) -> list[Edge]:
    """What may answer: a question about now has no use for what is over or superseded."""
    if asked.about_past or asked.about_over:
        return list(edges)
    return [e for e in edges if not _is_over(e, now)]


def _is_over(edge: Edge, now: datetime) -> bool:
    """Whether the fact no longer held at the time that is answered for; one that ended later still did."""
    return edge.invalid_at is not None and edge.invalid_at <= now


def _ranked(asked: Question, edges: Sequence[Edge], similarity: Mapping[int, float], now: datetime) -> list[_Scored]:
    groups: dict[str, list[Edge]] = {}
    for edge in edges:
        groups.setdefault(edge.as_text, []).append(edge)
    ranker = _Ranker(asked, similarity, _weights(groups), now)
    return sorted(map(ranker.scored, groups.values()), key=lambda s: (not s.fits, -s.score))


def _weights(texts: Iterable[str]) -> dict[str, float]:
    """How telling each word is among the remembered sentences: 1 for a word of one sentence, less for common ones."""
    count: dict[str, int] = {}
    for text in texts:
        for word in stems(text):
            count[word] = count.get(word, 0) + 1
    return {word: 1 / n**0.5 for word, n in count.items()}


def _told(fitting: Sequence[_Scored], now: datetime) -> Answer:
    """The best sentence, and others that tell the same of the same one: a second language, a second job."""
    best = fitting[0]
    first = best.edges[0]
    others = [
        s
        for s in fitting[1:]
        if (s.edges[0].source, s.edges[0].relation) == (first.source, first.relation)
        and s.score >= best.score * _CLOSE_TO_BEST
        and first.relation != "noted"
    ]
    chosen = [best, *others][:_MOST]
    sentences = dict.fromkeys(tell(s.edges[0], now) for s in chosen)
    return Answer(" ".join(sentences), edges=tuple(e.id for s in chosen for e in s.edges))
