"""What the core asks of the outside, each as narrow as its callers need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from core.graph import Dataset, Edge, Entity, Extraction, GraphChange, Known, StatedEdge, Stored, Verdict
from core.inferences import Choice, Inference, InferenceType
from core.overview import DatasetStatus

if TYPE_CHECKING:
    from core.query.subgraph import Match, Subgraph

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """What an engine says, the model calls it took, and what of the answer had to be left out, in words."""

    value: T
    inferences: tuple[Inference, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer and the ids it says it rests on (not yet checked)."""

    text: str
    entities: tuple[int, ...] = ()
    edges: tuple[int, ...] = ()


class Engine(Protocol):
    """Reads texts, compares facts and answers questions. Cut by task: a prompted model and rules can both be one.

    Every method raises ModelFailed, with what it cost, when there is no usable answer.
    """

    answer_mode: Literal["model", "extractive"]

    def require(self) -> None:
        """Raises NotConfigured when nobody is there to read and answer; the text names the ways out."""
        ...

    async def extract(self, text: str, reference_time: datetime, choice: Choice) -> Reply[Extraction]:
        """The entities and facts that the text states. `reference_time` keeps the offset it was given with: relative
        words ("yesterday") are resolved there."""
        ...

    async def resolve(
        self, new: Sequence[StatedEdge], candidates: Sequence[Edge], choice: Choice
    ) -> Reply[list[Verdict]]:
        """One verdict for each new fact, in order, by the ids of the candidates."""
        ...

    async def answer(self, question: str, subgraph: Subgraph, now: datetime, choice: Choice) -> Reply[Answer]:
        """An answer from the subgraph alone."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question to a language model: fixed text first, what varies last, and the JSON schema of the answer."""

    system: str
    user: str
    schema: Mapping[str, Any]
    schema_name: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model wrote. `truncated`: it ran into its limit; `refused`: it declined, `detail` says how."""

    text: str
    inference: Inference
    stop: Literal["finished", "truncated", "refused"] = "finished"
    detail: str = ""


class LanguageModel(Protocol):
    """Completes a prompt. Raises ModelFailed or ModelOverloaded when no answer came, with the inference to record."""

    async def complete(self, prompt: Prompt, choice: Choice) -> Completion: ...


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors in the order of the texts, each little-endian float32 of unit length, and the call that made them."""

    vectors: tuple[bytes, ...]
    inference: Inference


class Embedder(Protocol):
    """Turns texts into vectors, in the order given, in one request. `model` and `dim` name the index it writes."""

    model: str
    dim: int

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Raises ModelFailed or ModelOverloaded when there are no vectors to be had."""
        ...


@dataclass(frozen=True, slots=True)
class Complexity:
    """How many entities a text will yield: simple (up to 5), medium (6 to 20), complex (more), as predicted."""

    choice: Literal["simple", "medium", "complex"]
    confidence: float
    probabilities: Mapping[str, float]


class DecisionModel(Protocol):
    """A quick model that picks one of a few choices. Advisory: callers go on without it."""

    async def classify_complexity(self, text: str) -> Reply[Complexity]: ...


IndexName = Literal["entities", "edges"]


@dataclass(frozen=True, slots=True)
class Hit:
    """A row found by its vector: its id and the cosine similarity, -1 to 1."""

    ref_id: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Flushed:
    """What became of the vectors that waited for one dataset."""

    pending: int = 0


class VectorStore(Protocol):
    """The vector indexes of the datasets. Writing goes through the outbox, so the port has no upsert."""

    async def search(self, dataset: Dataset, index: IndexName, vectors: Sequence[bytes], limit: int) -> list[list[Hit]]:
        """For each vector the nearest rows, most similar first. An index that is not there yet has none.

        Raises IndexUnavailable.
        """
        ...

    async def flush(self, dataset: Dataset, up_to: int) -> Flushed:
        """Writes what waits in the outbox. Waits up to 5 s until nothing up to that commit waits, whoever writes it.
        Raises IndexUnavailable when a write failed; what waits is kept."""
        ...

    async def pending(self) -> int:
        """How many vectors wait, in all datasets."""
        ...


class GraphStore(Protocol):
    """The graph in SQL: each verb is one snapshot or one transaction."""

    async def dataset(self, user_id: str, name: str) -> Dataset | None: ...

    async def overview(self) -> list[DatasetStatus]:
        """Every dataset of every user, with its counts."""
        ...

    async def dataset_names(self, user_id: str) -> list[str]:
        """The user's datasets by name, for the text of an error."""
        ...

    async def known(self, dataset: Dataset, extraction: Extraction, similar: Mapping[int, float]) -> Known:
        """The stored entities that the extraction names, the live facts that touch them or an entity in `similar`
        (newest first, at most 50), and the repeats of each new fact; one snapshot."""
        ...

    async def write(self, change: GraphChange) -> Stored:
        """The whole change in one transaction, decided again on the rows read inside it. Creates the dataset if needed.

        Raises Stale when facts on the same endpoints appeared since `change.read_seq`: nothing is stored then.
        """
        ...

    async def match(self, dataset: Dataset, match: Match) -> list[Entity]:
        """The best scored entities, best first; the most recently updated ones where none scores."""
        ...

    async def neighbourhood(self, dataset: Dataset, entities: Sequence[Entity], match: Match) -> Subgraph:
        """The entities with every fact that touches them, newest first up to the limit, and the other ends."""
        ...

    async def facts(self, dataset: Dataset, edge_ids: Sequence[int], match: Match) -> Subgraph:
        """The first `match.joining` of these facts that the read time admits, newest first, with their ends."""
        ...


class RunLog(Protocol):
    """The record of what was executed. Failing to write it is logged and never fails the call."""

    async def start(self, run: RunOf, parameters: Mapping[str, object], first: StageRecord) -> int | None:
        """A new run at its first stage, its id; None when it could not be written."""
        ...

    async def stages(self, run: RunOf, records: Sequence[StageRecord]) -> None:
        """The state of these stages, with the inferences they have not recorded yet."""
        ...

    async def finish(
        self, run: RunOf, records: Sequence[StageRecord], *, artifact_id: int | None, error: str | None
    ) -> None:
        """The end of a run: failed with an error, else succeeded."""
        ...

    async def counts(self) -> dict[str, int]:
        """How many runs there are in each status."""
        ...

    async def inference(self, call: ModelCall, run: RunOf) -> int | None:
        """Records one model call outside a remember run and registers its model if it is new; its id."""
        ...


@dataclass(frozen=True, slots=True)
class RunOf:
    """Whose call it is."""

    user_id: str
    dataset: str
    session_id: str | None
    run_id: int | None = None


class ModelCall(NamedTuple):
    """One inference and what it was for: its type, and the model stage."""

    type: InferenceType
    stage: str
    inference: Inference


@dataclass(slots=True)
class StageRecord:
    """How one stage went. A stage that is not used has no record: it stays not_started."""

    stage: str
    started_at: datetime
    status: Literal["started", "succeeded", "failed"] = "started"
    finished_at: datetime | None = None
    error: str | None = None
    inference_ids: list[int] = field(default_factory=list[int])
    unrecorded: list[ModelCall] = field(default_factory=list[ModelCall])
    """Calls whose rows are not written yet; writing them fills `inference_ids`."""
