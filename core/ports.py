"""What the core asks of the outside, each as narrow as its callers need."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from core.graph import (
    Commit,
    Dataset,
    Edge,
    Entity,
    Extraction,
    GraphChange,
    Known,
    Message,
    StatedEdge,
    Stored,
    Verdict,
)
from core.images import Image, ImageReading, KnownImage
from core.inferences import Choice, Inference, InferenceType
from core.overview import DatasetStatus

if TYPE_CHECKING:
    from core.browse.stored import (
        ArtifactFilter,
        EdgeFilter,
        EntityFilter,
        Page,
        StoredArtifact,
        StoredDataset,
        StoredSession,
        WholeArtifact,
        WholeEdge,
        WholeEntity,
        Window,
    )
    from core.export.rows import Include, Snapshot
    from core.imports.document import Document, Imported
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

    async def extract_messages(self, messages: Sequence[Message], choice: Choice) -> Reply[Extraction]:
        """The entities and facts that a stretch of conversation states, each with the messages that hold it
        (`named_in`, `said_in`: positions). Whoever says "I" is the speaker."""
        ...

    async def summarize(self, text: str, choice: Choice) -> Reply[str]:
        """Two to four sentences that say what the text says."""
        ...

    async def read_image(self, image: Image, choice: Choice) -> Reply[ImageReading]:
        """What kind of picture it is, and the words that stand in it. Raises NotConfigured where nobody can see."""
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
    """One question to a language model: fixed text first, what varies last, and the JSON schema of the answer. `image`
    is shown before the words of the user turn."""

    system: str
    user: str
    schema: Mapping[str, Any]
    schema_name: str
    max_tokens: int
    image: Image | None = None


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model wrote. `truncated`: it ran into its limit; `refused`: it declined, `detail` says how."""

    text: str
    inference: Inference
    stop: Literal["finished", "truncated", "refused"] = "finished"
    detail: str = ""


class LanguageModel(Protocol):
    """Completes a prompt. Raises ModelFailed or ModelOverloaded when no answer came, with the inference to record.

    `model` is the one that is asked where a request names none.
    """

    model: str

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

    model: str

    async def classify_complexity(self, text: str) -> Reply[Complexity]: ...


IndexName = Literal["entities", "edges", "chunks", "summaries"]


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

    async def catch_up(self, dataset: Dataset) -> Flushed:
        """Embeds the texts that wait for a vector, then writes all that waits. Never raises: what fails is tried again
        later."""
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

    async def messages(
        self, dataset: Dataset, external_ids: Sequence[str], *, but_of_run: int | None
    ) -> dict[str, int]:
        """The messages of these ids that the dataset holds, and their artifacts; not those that this run stored."""
        ...

    async def image(self, dataset: Dataset, sha256: str) -> KnownImage | None:
        """The image of that digest, where the dataset holds it."""
        ...

    async def link_session(self, dataset: Dataset, artifact_id: int, session_id: str, now: datetime) -> None:
        """A session that told an artifact of the dataset again, in which another one told it first."""
        ...

    async def stored_by(self, run_id: int) -> list[Commit]:
        """What a run has stored so far, in order, with the rows as they are now."""
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

    async def rows(
        self, dataset: Dataset, entity_ids: Sequence[int], edge_ids: Sequence[int], known_at: datetime
    ) -> Subgraph:
        """These rows as they stood at that time, in the order of the ids, and no others. What the dataset does not
        have, or did not have then, is not there."""
        ...


class GraphReader(Protocol):
    """Shows what is stored, in lists by page and row by row. Each verb is one snapshot. A row of another dataset is not
    there: it is answered like one that never was."""

    async def datasets(self, user_id: str, window: Window) -> Page[StoredDataset]:
        """By name. Key: the name."""
        ...

    async def sessions(self, dataset: Dataset, window: Window) -> Page[StoredSession]:
        """Those that began last first. Key: the microsecond of the beginning since 1970, and the session."""
        ...

    async def session(
        self, dataset: Dataset, among: ArtifactFilter, window: Window
    ) -> tuple[StoredSession, Page[StoredArtifact]] | None:
        """The session that the filter names, with its artifacts."""
        ...

    async def artifacts(self, dataset: Dataset, among: ArtifactFilter, window: Window) -> Page[StoredArtifact]:
        """Newest first. Key: the id."""
        ...

    async def artifact(self, dataset: Dataset, artifact_id: int, window: Window) -> WholeArtifact | None:
        """With as many of its entities and facts as the window lets through."""
        ...

    async def entities(self, dataset: Dataset, among: EntityFilter, window: Window) -> Page[Entity]:
        """Newest first. Key: the id."""
        ...

    async def names(self, dataset: Dataset, beginning: str, limit: int) -> Page[str]:
        """The names of entities that begin so, whatever their case and accents; of those named last first."""
        ...

    async def entity(self, dataset: Dataset, entity_id: int, window: Window) -> WholeEntity | None:
        """With as many of its facts, artifacts and sessions as the window lets through."""
        ...

    async def edges(self, dataset: Dataset, among: EdgeFilter, window: Window) -> Page[Edge]:
        """Those learned last first. Key: the commit that stored it, and the id."""
        ...

    async def edge(self, dataset: Dataset, edge_id: int, window: Window) -> WholeEdge | None:
        """With as many of its artifacts and sessions as the window lets through."""
        ...


class ByteStream(Protocol):
    """A document in pieces, for one reader, who closes it when done or no longer interested."""

    def __aiter__(self) -> ByteStream: ...

    async def __anext__(self) -> bytes: ...

    async def aclose(self) -> None: ...


class Exports(Protocol):
    """Reads whole datasets."""

    async def open(
        self,
        user_id: str,
        dataset: str,
        include: frozenset[Include],
        render: Callable[[Snapshot], Iterator[bytes]],
    ) -> ByteStream | None:
        """The dataset as it is at this moment, as `render` writes it while the stream is read, in a thread of its own.
        The snapshot is held until the stream is closed. None where the user has no such dataset."""
        ...


class Imports(Protocol):
    """Takes in whole documents."""

    async def load(self, user_id: str, dataset: str, document: Document, clock: Callable[[], datetime]) -> Imported:
        """All rows of a checked document in one transaction; the dataset is created if it is not there."""
        ...


CostKey = Literal["day", "stage", "model", "user", "type"]
COST_KEYS: tuple[CostKey, ...] = ("day", "stage", "model", "user", "type")


@dataclass(frozen=True, slots=True)
class CostFilter:
    """Which model calls are summed: made at `since` or later and before `until`; None is no bound."""

    since: datetime | None = None
    until: datetime | None = None
    user_id: str | None = None
    dataset: str | None = None


@dataclass(frozen=True, slots=True)
class CostSum:
    """The sums of one group of calls; `keys` are its values, in the order that was asked for. A day is YYYY-MM-DD."""

    keys: tuple[str, ...]
    calls: int
    input_tokens: int
    cached_input_tokens: int
    cache_write_tokens: int
    output_tokens: int
    thinking_tokens: int
    cost_usd: float


class CostStore(Protocol):
    """Sums over the recorded model calls."""

    async def spent(self, since: datetime, user_id: str | None) -> float:
        """US dollars of the calls since then, of one user or of all."""
        ...

    async def sums(self, by: Sequence[CostKey], among: CostFilter) -> list[CostSum]:
        """One sum for each group, in the order of the keys; with no key, one over all."""
        ...


Scope = Literal["artifact", "entity", "edge", "session", "run", "dataset", "user"]


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What was forgotten or merged: what it was, how much of it and when, and until when it can be undone. A purged one
    holds nothing else any more."""

    id: int
    user_id: str
    dataset: str | None
    action: Literal["forget", "merge"]
    scope: Scope
    target: str | None
    counts: Mapping[str, int]
    created_at: datetime
    undo_until: datetime | None
    undone_at: datetime | None
    purged_at: datetime | None
    dataset_id: int | None = None


@dataclass(frozen=True, slots=True)
class Removal:
    """What a forget or a merge takes away: how much, and a digest that no other removal and no later state of the
    dataset has. `dataset` is None for a user's whole memory."""

    counts: Mapping[str, int]
    digest: str
    tombstone: Tombstone | None = None
    dataset: Dataset | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be taken away. `target` is an id, or the name of a session; `into` the entity that a merge keeps.

    `allow` is asked when it is known what would go, before anything does; it raises what stops it.
    """

    user_id: str
    dataset: str
    scope: Scope
    target: int | str | None
    clock: Callable[[], datetime]
    undo_for: timedelta
    allow: Callable[[Removal], None]
    dry_run: bool = False
    into: int | None = None


class Forgetting(Protocol):
    """Takes things out of the graph, so that no reader sees them from then on, and brings them back. Each verb is one
    transaction. NotFound is raised for what the user does not have."""

    async def forget(self, order: Order) -> Removal:
        """Moves what the order names to a tombstone, with what it alone supports; what it alone had closed is open
        again. A dry run only tells."""
        ...

    async def merge(self, order: Order) -> Removal:
        """Gives the facts, links and name of one entity to another, and moves the first to a tombstone."""
        ...

    async def undo(self, user_id: str, tombstone_id: int, clock: Callable[[], datetime]) -> Removal:
        """Brings back what a tombstone holds, under the same ids. Raises Conflict where that can't be."""
        ...

    async def purge(self, user_id: str, tombstone_id: int, clock: Callable[[], datetime]) -> Tombstone:
        """Removes what a tombstone holds for good: its rows, vectors, and what logs tell of them."""
        ...

    async def tombstones(self, user_id: str, *, dataset: str | None, before: int | None, limit: int) -> list[Tombstone]:
        """What was forgotten or merged, newest first."""
        ...


class EventRing(Protocol):
    """The newest events, as JSON objects (core.events.Event.body)."""

    async def newest(self, limit: int, *, after: int = 0) -> list[tuple[int, dict[str, Any]]]:
        """The newest ones with their ids, oldest first; only those after an id."""
        ...


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of remember as it is recorded. `queued` tells of a started one that it has not had its turn yet;
    `outcome` is what its response said besides the rows that it stored."""

    id: int
    user_id: str
    dataset: str
    session_id: str | None
    kind: str
    status: Literal["started", "succeeded", "failed"]
    queued: bool
    parameters: Mapping[str, Any]
    artifact_id: int | None
    error: str | None
    created_at: datetime
    finished_at: datetime | None
    outcome: Mapping[str, Any]
    stages: tuple[StageRecord, ...]
    """Those that were used, in no order."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are read; None is all. Of the statuses, started holds those that are queued and those that run."""

    user_id: str | None = None
    dataset: str | None = None
    status: Literal["started", "queued", "running", "succeeded", "failed"] | None = None


class RunLog(Protocol):
    """The record of what was executed. Failing to write it is logged and never fails the call."""

    async def stages(self, run: RunOf, records: Sequence[StageRecord]) -> None:
        """The state of these stages, with the inferences they have not recorded yet."""
        ...

    async def finish(
        self,
        run: RunOf,
        records: Sequence[StageRecord],
        *,
        artifact_id: int | None,
        error: str | None,
        outcome: Mapping[str, object] | None = None,
    ) -> None:
        """The end of a run: failed with an error, else succeeded. Its job goes with it; a run that another process took
        over, or that has ended, stays as it is."""
        ...

    async def run(self, run_id: int, user_id: str | None = None) -> RunRecord | None:
        """One run; None where there is none, or the user has none of that id."""
        ...

    async def runs(self, among: RunFilter, limit: int, offset: int = 0) -> list[RunRecord]:
        """Some of the runs with their stages, newest first."""
        ...

    async def count(self, among: RunFilter) -> int:
        """How many runs these are."""
        ...

    async def counts(self) -> dict[str, int]:
        """How many runs there are in each status."""
        ...

    async def waiting(self) -> int:
        """How many runs wait for their turn."""
        ...

    async def inference(self, call: ModelCall, run: RunOf) -> int | None:
        """Records one model call outside a remember run and registers its model if it is new; its id."""
        ...


@dataclass(frozen=True, slots=True)
class NewJob:
    """A call of remember that asks for its turn. With a `request` it is durable: whoever finds it after a crash takes
    it up. The `key` is its caller's name for it, `digest` tells whether two requests of one key are the same."""

    of: RunOf
    kind: str
    parameters: Mapping[str, object]
    created_at: datetime
    request: Mapping[str, object] | None = None
    key: str | None = None
    digest: str | None = None


class Entered(NamedTuple):
    """How a call entered the queue: as which run, None where no row of it could be written; whether it has its turn;
    and whether the run was there before, by its key."""

    run_id: int | None
    turn: bool
    joined: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A durable run that was taken over from a process that is gone."""

    of: RunOf
    created_at: datetime
    request: Mapping[str, Any]


class Jobs(Protocol):
    """The queue of remember: one run at a time for each dataset, in the order of their ids, whichever processes they
    are in. A job belongs to its owner while that process lives and renews its lease; the end of its run removes it."""

    async def enqueue(self, job: NewJob) -> Entered:
        """A new run with its job, in one transaction; it has its turn at once where nobody is before it. One whose key
        names a run that has not failed joins it.

        Raises QueueFull, Conflict when the key names another request, and StorageBusy. A queue that can't be written
        for another reason raises for a durable call only.
        """
        ...

    async def take(self, run: RunOf) -> bool:
        """Takes the turn, if nobody alive is before it. Raises TakenOver when the job is not ours any more."""
        ...

    async def keep(self, run_id: int, request: Mapping[str, object]) -> bool:
        """Makes a job of this process durable, on disk; False where it is not there any more."""
        ...

    async def renew(self, run_ids: Sequence[int]) -> None:
        """Extends the leases of this process."""
        ...

    async def release(self, run_id: int) -> None:
        """Gives a durable job up, for whoever takes it over first."""
        ...

    async def take_over(self, ours: Collection[int], *, reads: bool) -> list[Job]:
        """Ends what is left of processes that are gone: runs that nobody can go on with are failed, interrupted;
        durable ones now belong to this process and wait for their turn. `reads`: an engine is there; without one only
        those are taken over whose caller read the text itself. `ours` are the runs that this process works on."""
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
