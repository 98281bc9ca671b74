"""The promises of the four product documents, one id each. An id is never merged, renamed or removed."""

from dataclasses import dataclass
from typing import Final

import pytest

LATER: Final = 1_000
"""No issue has been filed yet: time series, geo, web search and the admin page."""


@dataclass(frozen=True)
class Promise:
    """What a product document promises, in our words, and the issue whose tests must prove it."""

    source: str  # "004 · Request": the document and its headings
    text: str
    due: int = 2
    changed: str = ""  # where our design differs on purpose: what holds instead

    def __str__(self) -> str:
        return f"{self.text} Changed: {self.changed}" if self.changed else self.text

    @property
    def later(self) -> bool:
        """Whether no issue has taken the promise on yet."""
        return self.due == LATER


def requirement(*ids: str) -> pytest.MarkDecorator:
    """Mark a test with the promises it proves."""
    if unknown := sorted(set(ids) - PROMISES.keys()):
        raise KeyError(f"no such promise: {', '.join(unknown)}. PROMISES in tests/requirements.py has them all.")
    return pytest.mark.requirement(*ids)


PROMISES: Final[dict[str, Promise]] = {
    # The whole, in one look: tell it something, ask about it, through any door
    "overview.text-becomes-facts": Promise(
        "001 · Remember", "remember keeps what it is told as an artifact and turns it into dated facts of the graph."
    ),
    "overview.example-answers": Promise(
        "000 · Example",
        'After remembering "Alice works at Acme and lives in Paris.", asking where Alice works answers with Acme, '
        "by curl on localhost:7878.",
    ),
    "overview.mcp-tools": Promise(
        "001 · Deduplication",
        "An MCP client calls remember and query as tools of a server at /v1/gb/mcp.",
        changed="The MCP door is always on, over HTTP and over stdio; there is nothing to switch on.",
    ),
    "overview.starts-without-a-key": Promise(
        "000 · Configuration, 004 · Configuration",
        "A server without a model key starts; remember and query then answer 503.",
        changed="Any configured provider counts, the embedded engine included; the 503 names every way out.",
    ),
    "overview.no-authentication": Promise(
        "000 · Limitations, 004 · Limitations",
        "No request needs credentials.",
        due=4,
        changed="True on loopback by default; bearer tokens can be switched on and are demanded beyond loopback.",
    ),
    "overview.error-envelope": Promise(
        "000 · Response, 004 · Response", 'Every failure of /v1/gb/* is a JSON object {"error": text}.'
    ),
    # query: what may be asked
    "query.answers-with-evidence": Promise(
        "000 · Query",
        "POST /v1/gb/query answers in plain language from graph context alone and returns the entities and edges "
        "it relied on.",
    ),
    "query.query-required": Promise("000 · Request", "query is a non-empty string; anything else is 400."),
    "query.body-limit": Promise(
        "000 · Request", "A body over 64 KiB is refused.", changed="The status of the refusal is 413."
    ),
    "query.invalid-json": Promise("000 · Response", "A body that is not valid JSON is 400."),
    "query.user-id-required": Promise("000 · Request", "A request without user_id is 400."),
    "query.dataset-default": Promise("000 · Request", "Without dataset, the dataset main is searched."),
    "query.own-dataset-only": Promise("000 · Request", "Nothing outside the named dataset of that user is searched."),
    "query.unknown-dataset": Promise(
        "000 · Request",
        "A dataset that does not exist is 404.",
        changed="Only for a named one: with dataset left out and no main yet, the fixed empty answer comes back.",
    ),
    "query.session-id-limits": Promise(
        "000 · Request", "A session_id over 128 bytes or with control characters is 400."
    ),
    "query.session-id-echoed": Promise(
        "000 · Request, Response", "The answer repeats the session_id; without one in the request the field is absent."
    ),
    "query.session-id-recorded": Promise(
        "000 · Request", "The trajectory and the monitoring event of the call carry the session_id.", due=3
    ),
    "query.session-id-connects": Promise(
        "000 · Request",
        "The recorded call shares its session_id with the artifacts, entities and facts of that session.",
    ),
    "query.session-id-changes-nothing": Promise(
        "000 · Request", "Retrieval and answer are the same with and without a session_id."
    ),
    "query.reasoning-levels": Promise(
        "000 · Request", "reasoning is none, low, medium or high in any letter case; another level is 400."
    ),
    "query.reasoning-default-none": Promise(
        "000 · Request, 004 · Reasoning",
        "Without reasoning the answer call runs at none: no thinking, no thinking tokens paid.",
    ),
    "query.inference-row": Promise(
        "000 · Request", "The call is a gb_inferences row of type query, stage query, with its level and its tokens."
    ),
    "query.inference-cost": Promise("000 · Request", "The gb_inferences row of a query holds its cost.", due=3),
    # query: what comes back
    "query.response-shape": Promise(
        "000 · Response", "200 holds session_id, answer, and evidence with entities and edges."
    ),
    "query.admits-ignorance": Promise(
        "000 · Response", "An answer that the graph cannot give is a plain admission, not a guess."
    ),
    "query.evidence-entity-fields": Promise(
        "000 · Response", "An evidence entity has the gb_entities id, name, type, and description when there is one."
    ),
    "query.evidence-edge-fields": Promise(
        "000 · Response", "An evidence edge has the gb_edges id, source_id, target_id, source, target and relation."
    ),
    "query.evidence-edge-artifact": Promise(
        "000 · Response, 001 · Query",
        "artifact_id names the gb_artifacts row the edge came from, so a fact leads back to its text; absent if unset.",
    ),
    "query.evidence-edge-times": Promise(
        "000 · Response",
        "An evidence edge has valid_at and created_at, and invalid_at and expired_at unless they are null.",
    ),
    "query.evidence-always-arrays": Promise(
        "000 · Response", "Both evidence lists are arrays, [] when empty, never null."
    ),
    "query.model-call-fails": Promise("000 · Response", "A failed model call is 502."),
    "query.model-output-unusable": Promise(
        "000 · Response", "Model output that is empty, truncated or cannot be parsed is 502."
    ),
    "query.model-not-configured": Promise(
        "000 · Response",
        "Without a configured model the answer is 503.",
        changed="Without any provider, not only without ANTHROPIC_API_KEY.",
    ),
    # query: the subgraph it reads
    "query.keyword-retrieval": Promise(
        "000 · Retrieve a subgraph, 004 · Limitations",
        "Retrieval matches words in SQL over gb_entities; no embedding is used.",
        changed="So with retrieval keyword, the default; hybrid adds vector hits under a budget.",
    ),
    "query.terms-split": Promise("000 · Retrieve a subgraph", "The question is lowercased and split into terms."),
    "query.terms-dropped": Promise(
        "000 · Retrieve a subgraph", "Terms under 2 characters, common stopwords and duplicates are dropped."
    ),
    "query.terms-at-most-12": Promise("000 · Retrieve a subgraph", "At most 12 terms are kept."),
    "query.score-whole-name": Promise(
        "000 · Retrieve a subgraph",
        "+5 for an entity whose whole normalized name stands in the question, a name of several words included.",
    ),
    "query.score-terms": Promise(
        "000 · Retrieve a subgraph, 001 · Query",
        "Per term, +3 when it is in the entity's name and +1 when it is in its description.",
    ),
    "query.seeds-top-10": Promise(
        "000 · Retrieve a subgraph, 001 · Query",
        "The 10 best entities are the seeds; a tie goes to the more recently updated one.",
    ),
    "query.fallback-25": Promise(
        "000 · Retrieve a subgraph, 001 · Query", "With no match, the 25 most recently updated entities are the seeds."
    ),
    "query.one-hop": Promise(
        "000 · Retrieve a subgraph, 001 · Query",
        "Every edge with a seed at either end joins the context, with the entity at its other end.",
    ),
    "query.edges-at-most-100": Promise(
        "000 · Retrieve a subgraph, 001 · Query", "The added edges come newest first and stop at 100."
    ),
    "query.one-hop-only": Promise(
        "000 · Limitations",
        "Edges that touch no seed are not seen.",
        changed="So with retrieval keyword; hybrid may add a second hop.",
    ),
    "query.edge-text-not-searched": Promise(
        "000 · Limitations",
        "Relations and descriptions of edges are not searched, only names and descriptions of entities.",
        changed="So with retrieval keyword; hybrid adds vector hits over edges.",
    ),
    "query.graph-text-only": Promise(
        "000 · Limitations",
        "The raw text of gb_artifacts never reaches the model.",
        changed="So with retrieval keyword; the full hybrid may add chunks and messages.",
    ),
    "query.empty-graph": Promise(
        "000 · Retrieve a subgraph, 001 · Query",
        'A graph with no entities answers "I don\'t have any information in memory to answer that." with empty '
        "evidence and no model call.",
    ),
    # query: the model call and the proof
    "query.renders-graph-tags": Promise(
        "000 · Ask the LLM", "The subgraph goes to the model as text with ids inside <graph> tags."
    ),
    "query.renders-entity-line": Promise(
        "000 · Ask the LLM",
        'An entity reads "[entity ID] NAME (TYPE): DESCRIPTION", the colon and description only when there is one.',
    ),
    "query.renders-edge-line": Promise(
        "000 · Ask the LLM",
        'An edge reads "[edge ID] SOURCE(ID) --RELATION--> TARGET(ID): DESCRIPTION [valid_at=…, invalid_at=…, '
        'superseded]".',
    ),
    "query.sends-current-time": Promise(
        "000 · Ask the LLM", "The question and the current time, in <current_time>, go with the graph."
    ),
    "query.default-model": Promise(
        "000 · Ask the LLM", "The answer comes from claude-haiku-5-5 by default, with at most 2048 output tokens."
    ),
    "query.prompt-graph-only": Promise(
        "000 · Ask the LLM, 001 · Query", "The system prompt allows only what the graph says."
    ),
    "query.prompt-past-facts": Promise(
        "000 · Ask the LLM",
        "The system prompt keeps facts with an invalid_at for questions about the past.",
        changed=(
            "A fact counts as past once its invalid_at is not after the current time; an end announced for later "
            "leaves it true until then."
        ),
    ),
    "query.prompt-json-only": Promise(
        "000 · Ask the LLM",
        "The model is asked for nothing but JSON with answer, entities and edges, the two lists being the ids it used.",
    ),
    "query.json-tolerated": Promise("000 · Ask the LLM", "Code fences and prose around the JSON do no harm."),
    "query.drops-unsent-ids": Promise(
        "000 · Build the evidence, 001 · Query", "A cited id that was not in the subgraph sent is dropped."
    ),
    "query.collapses-repeated-edges": Promise("000 · Build the evidence", "An edge cited twice appears once."),
    "query.adds-endpoints": Promise(
        "000 · Build the evidence", "Source and target of each cited edge are in evidence.entities."
    ),
    "query.ordered-by-id": Promise("000 · Build the evidence", "Both evidence lists are ordered by id."),
    # remember: what may be told
    "remember.user-id-required": Promise("004 · Request", "A request without user_id is 400."),
    "remember.text-required": Promise(
        "004 · Request", "text is a non-empty string unless image is given; otherwise 400."
    ),
    "remember.text-limit": Promise(
        "004 · Request",
        "A text over 1 MiB is refused.",
        changed="The status is 400, counted in bytes of UTF-8; a body over 8 MiB is 413.",
    ),
    "remember.dataset-created": Promise(
        "004 · Request", "A dataset that does not exist is created; left out, it is main."
    ),
    "remember.dataset-isolates": Promise(
        "004 · Request", "Nothing is deduplicated or reconciled across the border of a dataset."
    ),
    "remember.kind-values": Promise(
        "004 · Request, 001 · Remember",
        "kind is knowledge or episode in any letter case, knowledge by default; any other value is 400.",
    ),
    "remember.kind-kept": Promise("004 · Request", "The kind is in gb_artifacts.kind and in the response."),
    "remember.kind-changes-nothing": Promise(
        "004 · Request", "Extraction and reconciliation do not depend on the kind."
    ),
    "remember.reference-time-format": Promise(
        "004 · Request, 001 · Remember",
        "reference_time is an RFC 3339 timestamp; a request without one uses the current time.",
    ),
    "remember.reference-time-resolves-dates": Promise(
        "004 · Request", "Relative dates in the text are resolved against reference_time."
    ),
    # remember: what comes back
    "remember.run-id": Promise("004 · Response", "remember_run_id is the gb_remember_runs row of the call."),
    "remember.artifact-fields": Promise(
        "004 · Response", "artifact_id and kind, valid_at (the reference_time) and created_at (when it was stored)."
    ),
    "remember.session-id-echoed": Promise(
        "004 · Response", "session_id is the artifact's session, absent if the request had none."
    ),
    "remember.entities-normalized": Promise(
        "004 · Response", "entities are those extracted from this text, after normalization."
    ),
    "remember.edges-as-stored": Promise(
        "004 · Response", "edges are the facts of this text as stored; for a repeat, the edge that was already there."
    ),
    "remember.edge-nulls-omitted": Promise(
        "004 · Response", "invalid_at and expired_at of an edge are absent when null."
    ),
    "remember.invalidated-edges": Promise(
        "004 · Response", "invalidated_edges lists the ids of the edges this artifact closed, always as an array."
    ),
    # remember: the steps of a short text
    "remember.complexity-classes": Promise(
        "004 · How it works",
        "Jev gets one choice question about the number of entities: simple is up to 5, medium 6 to 20, complex above.",
    ),
    "remember.complexity-needs-key": Promise(
        "004 · How it works", "Complexity is classified, in 1 call, only with jev_api_key or JEV_API_KEY set."
    ),
    "remember.complexity-kept": Promise(
        "004 · How it works",
        "Jev's confidence (0 to 1) and class probabilities are kept; complexity, confidence and latency_ms are logged.",
    ),
    "remember.complexity-advisory": Promise(
        "004 · How it works", "A failed classification is logged and the request goes on."
    ),
    "remember.complexity-always-jev": Promise(
        "004 · How it works", "Complexity always runs on Jev and is no stage of models."
    ),
    "remember.complexity-32-kib": Promise("004 · How it works", "Of a longer text only the first 32 KiB go to Jev."),
    "remember.extract-one-call": Promise(
        "004 · How it works",
        "extract_graph is 1 model call over reference time and text, at most 4096 output tokens, on "
        "claude-haiku-5-5 by default.",
    ),
    "remember.extract-fields": Promise(
        "001 · Remember",
        "Extraction yields entities with name, type, description, and edges with source, target, relation, "
        "description, valid_at, invalid_at.",
    ),
    "remember.extract-json-only": Promise(
        "004 · How it works", "The model is asked for JSON only; code fences and prose around it do no harm."
    ),
    "remember.valid-at-default": Promise("004 · How it works", "The reference time stands in for a missing valid_at."),
    "remember.resolve-only-if-needed": Promise(
        "004 · How it works, Candidate facts",
        "resolve_edges is 1 model call when stored facts remain to compare with, none otherwise.",
    ),
    "remember.exact-repeats-by-code": Promise(
        "004 · How it works, Candidate facts", "An exact repeat is recognised without the model."
    ),
    "remember.model-flags-the-rest": Promise(
        "004 · How it works, Candidate facts",
        "The model names the duplicates in other words and the contradictions among the remaining facts.",
    ),
    "remember.one-transaction": Promise(
        "004 · How it works, 001 · Remember", "Artifact, entities, edges and links are written in one transaction."
    ),
    "remember.call-count": Promise(
        "004 · How it works", "A short text costs 1 model call, or 2 when stored edges are compared."
    ),
    "remember.embedding-request-count": Promise(
        "004 · How it works",
        "A short text costs 1 embeddings request, or 2 when the dataset exists and the candidate search embeds the "
        "endpoints.",
    ),
    "remember.failure-stores-nothing": Promise(
        "004 · How it works", "A failure of any step before the commit stores nothing."
    ),
    "remember.model-failure": Promise(
        "004 · Choosing the model of each stage, Limitations",
        "A model call that fails, or an extraction that is truncated, is 502 and nothing is stored.",
    ),
    # normalize: one spelling, one row
    "normalize.entity-type": Promise(
        "004 · Normalization and deduplication, 001 · Remember",
        "An entity type is lowercased; an empty one becomes other.",
    ),
    "normalize.relation": Promise(
        "004 · Normalization and deduplication, 001 · Remember", "A relation is lowercased, its spaces become _."
    ),
    "normalize.entity-identity": Promise(
        "004 · Normalization and deduplication, 001 · Deduplication",
        "An entity is unique on (name lowercased with white space collapsed, type).",
    ),
    "normalize.description-kept": Promise(
        "004 · Normalization and deduplication, 001 · Deduplication",
        "Telling an entity again replaces its description only with a non-empty one.",
    ),
    "normalize.endpoint-resolution": Promise(
        "004 · Normalization and deduplication, 001 · Deduplication",
        "An edge's endpoint is an entity of this text, else a stored one of that name and any type, else a new one "
        "of type other.",
    ),
    "remember.repeated-fact-merged": Promise(
        "004 · Normalization and deduplication, 001 · Deduplication",
        "A fact with source, target and relation of a stored one that is still true is not inserted again.",
    ),
    "remember.same-text-twice": Promise(
        "004 · Normalization and deduplication, 001 · Deduplication",
        "A second artifact, linked to what exists and to its session, with no duplicate entities, edges or vectors.",
    ),
    # temporal: true in the world, known to us
    "temporal.event-time": Promise(
        "001 · The temporal model", "valid_at and invalid_at say when a fact was true in the world."
    ),
    "temporal.system-time": Promise(
        "001 · The temporal model",
        "created_at and expired_at say when a fact was learned and when newer knowledge superseded it.",
    ),
    "temporal.closed-not-deleted": Promise(
        "001 · The temporal model", "A contradicted fact is closed and stays readable; it is never deleted."
    ),
    # candidates: the stored facts a new one is compared with
    "candidates.same-dataset": Promise(
        "004 · Candidate facts", "Candidates come from the same user's dataset and nowhere else."
    ),
    "candidates.live-only": Promise(
        "004 · Candidate facts, 001 · Remember", "A superseded edge (expired_at set) is no candidate."
    ),
    "candidates.touch-an-endpoint": Promise(
        "004 · Candidate facts", "A candidate has an endpoint of a new edge as source or target."
    ),
    "candidates.newest-50": Promise("004 · Candidate facts", "Candidates come newest first, at most 50."),
    "candidates.new-dataset-none": Promise(
        "004 · Candidate facts", "For a dataset still to be created the candidate list is empty."
    ),
    "candidates.nothing-else-touched": Promise(
        "004 · Candidate facts", "A stored fact that was not loaded is neither merged nor closed by the call."
    ),
    "candidates.by-name": Promise(
        "004 · Candidate facts", "Always looked up by the endpoints' names, lowercased and white space collapsed."
    ),
    "candidates.by-similarity": Promise(
        "004 · Candidate facts",
        'With an embedder each endpoint, as "Name (type): description" with type other if unlisted, is searched in '
        "the entity index.",
        changed="Any configured embedder does it, not only an OpenAI key.",
    ),
    "candidates.similarity-limits": Promise(
        "004 · Candidate facts",
        "The 3 closest entities per endpoint count, from cosine similarity 0.75 up, except one with the endpoint's "
        "normalized name.",
    ),
    "candidates.finds-aliases": Promise(
        "004 · Candidate facts", 'A text about "Alicia" finds the facts of the stored "Alice Smith".'
    ),
    "candidates.merged-by-edge": Promise(
        "004 · Candidate facts",
        "An edge found both ways is one candidate; both lists are joined, sorted newest first, and only then cut "
        "to 50.",
    ),
    "candidates.found-by": Promise("004 · Candidate facts", "found_by is name, similar or name+similar."),
    "candidates.similarity-recorded": Promise(
        "004 · Candidate facts", "The similarity lookup is 1 embeddings request with an inference row of its own."
    ),
    "candidates.similarity-may-fail": Promise(
        "004 · Candidate facts",
        "If embedding or search fails, a warning is logged and the candidates by name are used.",
    ),
    "candidates.liveness-from-database": Promise(
        "004 · Candidate facts",
        "The index only names entities; their facts, and whether they are live, are read in the database.",
    ),
    "candidates.edges-not-searched": Promise(
        "004 · Candidate facts, Limitations", "The edge index does not take part in the candidate search."
    ),
    # store: rows and links
    "store.artifact-row": Promise(
        "004 · How it works", "gb_artifacts keeps the raw text with its reference time, kind and session_id."
    ),
    "store.entity-links": Promise(
        "004 · How it works, Schema",
        "gb_entity_artifacts links every artifact an entity was told in, stored entities named only by an edge "
        "included.",
    ),
    "store.edge-artifact": Promise(
        "004 · How it works, Schema", "gb_edges.artifact_id is the artifact that created the edge."
    ),
    "store.edge-links": Promise(
        "004 · How it works, Schema",
        "gb_edge_artifacts links the creating artifact and every one whose duplicate was merged, exact or found by "
        "the model.",
    ),
    "store.contradiction-not-linked": Promise(
        "004 · Schema", "A contradicted edge is not linked to the artifact that contradicts it."
    ),
    "store.gb-prefix": Promise("004 · Schema", "Every table's name starts with gb_."),
    "store.foreign-keys-on": Promise("004 · Schema", "Foreign keys are enforced on every connection."),
    "store.delete-entity": Promise(
        "004 · Schema", "Deleting an entity removes its edges and its gb_entity_artifacts and gb_entity_sessions links."
    ),
    "store.delete-edge": Promise(
        "004 · Schema", "Deleting an edge removes its gb_edge_artifacts and gb_edge_sessions links."
    ),
    "store.delete-artifact": Promise(
        "004 · Schema",
        "With an artifact go its edge and entity links; its edges stay with artifact_id NULL, session links stay "
        "as they are.",
    ),
    "store.shared-entity-survives": Promise(
        "004 · Schema", "An artifact can be removed without losing the entities that other artifacts support.", due=3
    ),
    "store.db-flag": Promise(
        "000 · Configuration, 004 · Configuration",
        "serve --db PATH selects the SQLite file.",
        changed="The default lies in the user's data folder, and --db also takes a PostgreSQL URL.",
    ),
    "store.schema-changes": Promise(
        "004 · Schema",
        "A database of an older schema has to be deleted; it is not migrated.",
        changed="Databases are migrated by numbered steps, and a newer one than the program is refused.",
    ),
    "store.vectors-apart": Promise(
        "004 · Limitations, How it works",
        "Database and vector store are not updated atomically.",
        changed=(
            "Vectors to write stand in an outbox committed with the rows, so a vector may be late but is never lost."
        ),
    ),
    # sessions: labels on a stream of artifacts
    "sessions.id-limits": Promise("004 · Request", "A session_id over 128 bytes or with control characters is 400."),
    "sessions.on-the-artifact": Promise("004 · Request", "The session is in gb_artifacts.session_id."),
    "sessions.entity-links": Promise(
        "004 · Request, How it works, Schema",
        "Every entity the artifact yields is in gb_entity_sessions, known ones included.",
    ),
    "sessions.edge-links": Promise(
        "004 · Request, How it works, Schema",
        "Every edge the artifact yields is in gb_edge_sessions, repeated ones included, so a fact keeps all its "
        "sessions.",
    ),
    "sessions.with-image": Promise("004 · Request", "session_id goes with an image too.", due=3),
    # embed: vectors of entities and edges
    "embed.texts": Promise(
        "004 · How it works",
        'The embedded text is "Name (type): description" for an entity and the description for an edge.',
    ),
    "embed.model": Promise(
        "004 · How it works",
        "The embedding model is text-embedding-3-small.",
        changed="So by default with OpenAI; any OpenAI-compatible embedder or the embedded one can be chosen.",
    ),
    "embed.one-request": Promise(
        "004 · How it works",
        "All texts of the artifact are one batch in one request: first the entities, then the edges.",
    ),
    "embed.matched-by-position": Promise("004 · How it works", "Vectors are matched to their texts by position."),
    "embed.one-inference": Promise(
        "004 · How it works", "The batch is one gb_inferences row with the tokens of all its texts."
    ),
    "embed.one-inference-cost": Promise(
        "004 · How it works", "The embeddings' gb_inferences row holds the cost of all its texts.", due=3
    ),
    "embed.before-commit": Promise(
        "004 · How it works",
        "Texts are embedded inside the store transaction, so a failure stores nothing.",
        changed="They are embedded before the transaction opens; a failure still stores nothing.",
    ),
    "embed.written-after-commit": Promise(
        "004 · How it works",
        "After the commit vectors are upserted, one call per index.",
        changed="The outbox is drained after the commit, into LanceDB, one merge_insert per index.",
    ),
    "embed.index-names": Promise(
        "004 · How it works, Schema",
        "Vectors entity-ID go to dataset-ID-entities, edge-ID to dataset-ID-edges, each dataset apart.",
        changed="The indexes are LanceDB tables per dataset.",
    ),
    "embed.overwrites": Promise(
        "004 · How it works", "Each entity and fact has one vector, replaced when it is told again."
    ),
    "embed.write-failure": Promise(
        "004 · How it works",
        "A vector write that fails after the commit is 502; artifact, entities and edges are saved.",
        changed="So over REST; MCP answers success with a count of vectors that wait.",
    ),
    "embed.repair": Promise(
        "004 · How it works",
        "Missing vectors are written when the entity or fact is next mentioned.",
        changed="The outbox writes them by itself, at the latest at the next start.",
    ),
    "embed.counts": Promise(
        "004 · Response",
        "embedded_entities and embedded_edges count the vectors of what the text mentions and states, known "
        "entities and repeats included.",
        changed="They count this request's vectors that are in the index when it answers.",
    ),
    "embed.counts-omitted": Promise("004 · Response", "Both counts are absent when nothing was embedded."),
    "embed.optional": Promise(
        "004 · Configuration",
        "OPENAI_API_KEY or openai_api_key in gligabao.toml; without it the graph is stored, no vectors, and a "
        "warning is logged at start.",
        changed="Any embedder counts, not only OpenAI.",
    ),
    "embed.dimensions": Promise(
        "004 · Configuration",
        "embedding_dimensions is 1536 by default.",
        changed="The default follows the embedder; 1536 with OpenAI's.",
    ),
    "embed.vector-store": Promise(
        "004 · Configuration",
        "vector_store chooses where vectors go.",
        changed="There is one vector store, LanceDB; chromem and Pinecone do not exist here.",
    ),
    "embed.no-re-embedding": Promise(
        "004 · Limitations",
        "What was stored without an embedder stays without vectors.",
        due=3,
        changed="gligabao reindex embeds it, in a new generation, without downtime.",
    ),
    # models: which model runs a stage
    "models.stage-names": Promise(
        "004 · Choosing the model of each stage, 001 · Models per stage",
        "models takes extract_graph, summarize_chunk, resolve_edges, web_search, resolve_series, detect_geo and "
        "extract_image; another is 400.",
    ),
    "models.default": Promise(
        "004 · Choosing the model of each stage, 001 · Models per stage",
        'A stage missing from models, or set to "", uses the default model; the others are unaffected.',
    ),
    "models.per-request": Promise(
        "004 · Choosing the model of each stage", "A choice holds for one request; the next starts from the defaults."
    ),
    "models.name-limits": Promise(
        "004 · Choosing the model of each stage",
        "A model name has at most 128 bytes, no white space, no control characters; otherwise 400.",
    ),
    "models.name-not-checked": Promise(
        "004 · Choosing the model of each stage",
        "A name the provider does not know fails the call: 502, nothing stored.",
    ),
    "models.unpriced": Promise(
        "004 · Choosing the model of each stage",
        "A model without a price in [prices] of gligabao.toml is recorded at cost 0.",
        due=3,
    ),
    "models.unused-stage-ignored": Promise(
        "004 · Choosing the model of each stage", "A model for a stage that does not run is ignored."
    ),
    "models.extract-graph": Promise(
        "004 · Choosing the model of each stage", "extract_graph runs on the model named for it."
    ),
    "models.resolve-edges": Promise(
        "004 · Choosing the model of each stage", "resolve_edges runs on the model named for it."
    ),
    "models.summarize-chunk": Promise("004 · How it works", "summarize_chunk runs on the model named for it.", due=3),
    "models.extract-image": Promise(
        "004 · Choosing the model of each stage", "extract_image runs on the model named for it.", due=3
    ),
    "models.knowledge": Promise(
        "004 · Choosing the model of each stage",
        "Every entity and edge carries as model_id the model that extracted it, as the provider's API reports it.",
    ),
    "models.registered": Promise(
        "004 · Choosing the model of each stage", "A model new to gb_models is registered there."
    ),
    "models.resolver-not-on-knowledge": Promise(
        "004 · Choosing the model of each stage", "The model of resolve_edges never becomes a model_id."
    ),
    "models.merged-keeps-its-own": Promise(
        "004 · Choosing the model of each stage", "A merged edge and a known entity keep the model_id they have."
    ),
    "models.chunks-alike": Promise(
        "004 · Choosing the model of each stage",
        "All chunks of a text are extracted by one model, and their knowledge carries it.",
        due=3,
    ),
    "models.exported": Promise(
        "004 · Choosing the model of each stage", "The graph export shows the model_id of entities and edges.", due=3
    ),
    # reasoning: how hard a stage thinks
    "reasoning.stage-names": Promise(
        "004 · Reasoning, Request",
        "reasoning takes extract_graph, summarize_chunk, resolve_edges, resolve_series, detect_geo and "
        "extract_image; web_search or another is 400.",
    ),
    "reasoning.levels": Promise(
        "004 · Request", "Levels are none, low, medium, high in any letter case; another is 400."
    ),
    "reasoning.default-none": Promise("004 · Request, Reasoning", "A stage left out runs with none."),
    "reasoning.per-stage": Promise("004 · Reasoning", "Each stage runs with the level the request gives it."),
    "reasoning.budgets": Promise(
        "004 · Reasoning",
        "low 1024, medium 4096 and high 16384 thinking tokens are added to the answer's max_tokens.",
        changed="The room is added as said, but a level is sent as effort; a budget only to models that take one.",
    ),
    "reasoning.thinking-is-output": Promise(
        "004 · Reasoning", "Thinking tokens count and are billed as output tokens.", due=3
    ),
    "reasoning.models-that-cannot-think": Promise(
        "004 · Reasoning", "A Claude 3 or 3.5 model is called without thinking and the row records none."
    ),
    "reasoning.recorded": Promise("004 · Reasoning", "The inference row records the level it ran with."),
    "reasoning.summary-and-image-stages": Promise(
        "004 · Reasoning", "summarize_chunk and extract_image run with the level the request gives them.", due=3
    ),
    # inferences: every model call on record
    "inferences.recorded": Promise(
        "004 · Choosing the model of each stage, Reasoning",
        "Every model call is a gb_inferences row with the model that answered, stage, level and tokens.",
    ),
    "inferences.cost": Promise(
        "004 · Choosing the model of each stage, Reasoning",
        "Every gb_inferences row holds the cost, so the cost of a stage is known.",
        due=3,
    ),
    # chunks: a text longer than one chunk
    "chunks.long-text": Promise(
        "004 · Request, 001 · Deduplication",
        "A text over chunk_size tokens (1024) is split into overlapping chunks.",
        due=3,
    ),
    "chunks.settings": Promise(
        "004 · Configuration", "chunk_size (1024 tokens) and chunk_overlap_percent (20) are settings.", due=3
    ),
    "chunks.each-on-its-own": Promise(
        "004 · How it works", "Chunks run one after the other, each extracted, stored and embedded on its own.", due=3
    ),
    "chunks.parent": Promise(
        "004 · Response", "artifact_id of a chunked text is the parent artifact, the whole text.", due=3
    ),
    "chunks.listed": Promise(
        "004 · Response",
        "chunks gives artifact_id, index, tokens, overlap_tokens, start_offset, end_offset, entities, edges and "
        "summary of each.",
        due=3,
    ),
    "chunks.only-when-chunked": Promise(
        "004 · Response, Limitations",
        "A short text has no chunks, embedded_chunks or embedded_summaries, and no summary is made.",
        due=3,
    ),
    "chunks.union": Promise(
        "004 · Response",
        "The three lists of the response gather what every chunk gave: entities, edges, invalidated_edges.",
        due=3,
    ),
    "chunks.embedded-counts": Promise(
        "004 · Response", "embedded_chunks and embedded_summaries count the vectors written.", due=3
    ),
    "chunks.summary-call": Promise(
        "004 · How it works",
        "A chunk's summary is 1 model call, at most 512 output tokens, two to four sentences, after its extraction "
        "and before anything is stored.",
        due=3,
    ),
    "chunks.summary-artifact": Promise(
        "004 · How it works",
        "The summary is an artifact of kind chunk_summary, child of the chunk, with the inference_id that wrote it.",
        due=3,
    ),
    "chunks.summary-fields": Promise(
        "004 · Response, Reasoning",
        "chunks[].summary has artifact_id, text, model (as the API reports it), reasoning and inference_id.",
        due=3,
    ),
    "chunks.summary-model-registered": Promise(
        "004 · Reasoning", "A summary's model that is new is registered in gb_models.", due=3
    ),
    "chunks.summary-not-extracted": Promise(
        "004 · How it works, Limitations", "No graph is extracted from a summary, and query does not read it.", due=3
    ),
    "chunks.summary-failure": Promise(
        "004 · Limitations", "A failed summary fails the request before its chunk is stored.", due=3
    ),
    "chunks.vectors": Promise(
        "004 · How it works", "chunk-ID goes to dataset-ID-chunks and summary-ID to dataset-ID-summaries.", due=3
    ),
    "chunks.one-embedding-request": Promise(
        "004 · How it works",
        "A chunk's batch is entities, edges, chunk text, summary, in one request and one inference row.",
        due=3,
    ),
    "chunks.call-count": Promise(
        "004 · How it works", "Each chunk costs 1 or 2 model calls and one more for its summary.", due=3
    ),
    "chunks.truncated": Promise(
        "004 · Limitations", "A chunk whose extraction is truncated fails the request with 502.", due=3
    ),
    "chunks.failure-keeps-earlier": Promise(
        "004 · Limitations", "When storing chunk k fails, chunks 1 to k-1 stay stored.", due=3
    ),
    # images: read and kept
    "images.base64": Promise("004 · Request", "image is a base64-encoded image given instead of text.", due=3),
    "images.pipeline": Promise(
        "004 · Request",
        "Title, text blocks and theme (plot, graph and so on) are read from an image and answered in a response of "
        "its own.",
        due=3,
    ),
    "images.no-text-no-kind": Promise("004 · Request", "text or kind beside image is 400.", due=3),
    "images.no-timeseries-no-web-search": Promise(
        "004 · Request", "timeseries or web_search beside image is 400.", due=3
    ),
    "images.nothing-in-the-graph": Promise("004 · Limitations", "An image adds nothing to the graph.", due=3),
    "images.known-image": Promise(
        "004 · Limitations",
        "A second image with the same SHA-256 in a dataset repeats the stored extraction, with no model call.",
        due=3,
    ),
    # manager: who runs when
    "manager.one-at-a-time": Promise(
        "004 · Remember manager",
        "Every run of remember goes through one manager, one at a time, and the caller waits for its run.",
        due=3,
        changed="One at a time per dataset, in order, also across processes; wait false answers 202 at once.",
    ),
    # runlog: how a call was executed
    "runlog.row-per-call": Promise(
        "004 · Run log", "One gb_remember_runs row per execution, written when the call starts."
    ),
    "runlog.no-row-for-400": Promise("004 · Run log", "A request rejected before the pipeline starts has no row."),
    "runlog.updated-at-every-step": Promise(
        "004 · Run log", "A run can be watched while it goes: its row follows each step.", due=3
    ),
    "runlog.dead-process": Promise(
        "004 · Run log",
        "started for ever means that the process is gone.",
        due=3,
        changed="The next start marks it failed, interrupted, unless its owner lives.",
    ),
    "runlog.queued": Promise(
        "004 · Run log", "A queued run has its row from then on; one that never runs is failed.", due=3
    ),
    "runlog.stages": Promise(
        "004 · Run log",
        "The stages in order: classify_complexity, chunk_text, extract_graph, summarize_chunk, load_candidates, "
        "resolve_edges, store, store_series, resolve_geo, web_search, fetch_series, observe_series.",
        due=3,
    ),
    "runlog.stage-fields": Promise(
        "004 · Run log, Admin UI", "Each stage has status, start, duration, inference ids and error.", due=3
    ),
    "runlog.unused-stage": Promise("004 · Run log", "not_started is the status of a stage that was not needed.", due=3),
    "runlog.embeddings-filed": Promise(
        "004 · Run log", "Embedding requests are filed under the stage that made them, load_candidates or store.", due=3
    ),
    "runlog.one-stage-per-inference": Promise(
        "004 · Run log", "Every inference of remember is in exactly one stage of one run.", due=3
    ),
    "runlog.failed-stage": Promise(
        "004 · Run log",
        "A failed stage fails the call with the same error; the stages after it stay not_started.",
        due=3,
    ),
    "runlog.advisory-stage": Promise(
        "004 · Run log", "classify_complexity may be failed in a run that succeeded.", due=3
    ),
    "runlog.write-failure": Promise(
        "004 · Run log", "A log row that cannot be written is logged and never fails the call.", due=3
    ),
    "runlog.read": Promise("004 · Run log", "A run is read by id, runs are listed by user, dataset and status.", due=3),
    # admin: the runs as JSON, and as a page
    "admin.runs-route": Promise(
        "004 · Admin UI",
        "GET /v1/gb/admin/api/remember-runs takes db, status, dataset, user_id, limit and offset.",
        due=3,
    ),
    "admin.runs-limits": Promise(
        "004 · Admin UI", "status is started, succeeded or failed; limit is 100 by default, at most 500.", due=3
    ),
    "admin.runs-counts": Promise(
        "004 · Admin UI", "counts has total, started, succeeded and failed, whatever the filters.", due=3
    ),
    "admin.runs-fields": Promise(
        "004 · Admin UI",
        "stages names the stages in order; runs come newest first, their stages keyed by name; total, limit and "
        "offset are of the filtered list.",
        due=3,
    ),
    "admin.page-list": Promise(
        "004 · Admin UI",
        "The page shows, per database, counts by status and the runs, newest first, 100 a page.",
        due=LATER,
    ),
    "admin.page-filter": Promise(
        "004 · Admin UI",
        "Clicking a status filters the list, again or Clear filter undoes it; counts stay unfiltered.",
        due=LATER,
    ),
    "admin.page-run": Promise(
        "004 · Admin UI", "Clicking a run opens its parameters and its table of stages.", due=LATER
    ),
    "admin.page-flag": Promise("004 · Admin UI", "A succeeded run with a failed stage is flagged.", due=LATER),
    # trajectory: the recorded course of a call
    "trajectory.classify-complexity": Promise(
        "004 · How it works", "The classify_complexity step has latency_ms and started_at in its extra.", due=3
    ),
    "trajectory.load-candidates": Promise(
        "004 · Candidate facts", "The load_candidates tool step lists the candidates, each with found_by.", due=3
    ),
    "trajectory.search-similar-entities": Promise(
        "004 · Candidate facts",
        "The search_similar_entities step has its tokens and cost, and the error if the lookup failed.",
        due=3,
    ),
    "trajectory.embed": Promise("004 · How it works", "The batch of an artifact is one embed step.", due=3),
    "trajectory.models": Promise(
        "004 · Choosing the model of each stage",
        "Each model step has model_name; the requested models are in extra.input.",
        due=3,
    ),
    # series: numbers over time
    "series.request": Promise(
        "004 · Request",
        "timeseries.series stores series of key and points, with anchors, in the transaction of the text.",
        due=LATER,
    ),
    "series.anchored-by-default": Promise(
        "004 · Request", "With no anchors given, the artifact is the anchor.", due=LATER
    ),
    "series.anchors-after-extraction": Promise(
        "004 · Request", "Entity and edge anchors may name what the text itself yields.", due=LATER
    ),
    "series.malformed": Promise("004 · Request", "A malformed timeseries is 400 before any model call.", due=LATER),
    "series.unmatched-anchor": Promise(
        "004 · Request, How it works",
        "An anchor that must match and finds nothing is 422; nothing is stored.",
        due=LATER,
    ),
    "series.after-last-chunk": Promise(
        "004 · How it works",
        "With a chunked text, series follow the last chunk and their default anchor is the parent.",
        due=LATER,
    ),
    "series.response": Promise(
        "004 · Response",
        "series, only with timeseries: id, key, created, points, point_count, stats and anchors of each.",
        due=LATER,
    ),
    "series.store-times": Promise(
        "004 · Run log", "For a text of one chunk, store_series has the times of store.", due=LATER
    ),
    "series.fetch": Promise(
        "004 · Request, How it works",
        "timeseries.fetch lets a model pick providers for the entities of the text itself, and stores and anchors "
        "what they return.",
        due=LATER,
    ),
    "series.fetch-503": Promise("004 · Request", "fetch without a series provider is 503.", due=LATER),
    "series.fetch-response": Promise(
        "004 · Response",
        "series_fetches gives entity, provider, query, reason, from, to, the series stored, and error.",
        due=LATER,
    ),
    "series.observations": Promise(
        "004 · Request, How it works",
        "Of at most 10 stored series, a text made by code from their stats becomes a series_observation artifact, "
        "extracted like a text.",
        due=LATER,
    ),
    "series.observations-child": Promise(
        "004 · How it works", "The parent of a series_observation is the artifact its series is anchored to.", due=LATER
    ),
    "series.observations-response": Promise(
        "004 · Response",
        "series_observations gives series_id, key, parent_artifact_id, query, from, to, text, artifact_id, "
        "entities, edges and error.",
        due=LATER,
    ),
    "series.never-fails-the-call": Promise(
        "004 · How it works", "A failed fetch or observation never fails the request.", due=LATER
    ),
    "series.inferences-filed": Promise(
        "004 · Run log",
        "fetch_series holds the resolve_series inference; both series stages hold all inferences of their own work.",
        due=LATER,
    ),
    "series.resolve-model": Promise(
        "004 · Choosing the model of each stage, Reasoning",
        "resolve_series runs on the model and level given for it.",
        due=LATER,
    ),
    # geo: where the places are
    "geo.only-with-resolver": Promise(
        "004 · How it works", "Places are resolved only with geo = true or serve --geo.", due=LATER
    ),
    "geo.places": Promise(
        "004 · How it works",
        "detect_geo says which entities are a city, country, region or landmark; the resolver, Nominatim by "
        "default, gives coordinates.",
        due=LATER,
    ),
    "geo.stored-once": Promise(
        "004 · How it works, 001 · Deduplication",
        "Coordinates are in gb_entity_geo by entity; an entity that has them is not looked up again.",
        due=LATER,
    ),
    "geo.response": Promise(
        "004 · Response",
        "geo lists the places with entity, entity_type, entity_id, kind, query, resolved, latitude, longitude, "
        "display_name, country, country_code, region, provider, error.",
        due=LATER,
    ),
    "geo.never-fails-the-call": Promise(
        "004 · How it works", "geo runs after the text is stored and its failure never fails the request.", due=LATER
    ),
    "geo.inferences-filed": Promise("004 · Run log", "resolve_geo holds the detect_geo inference.", due=LATER),
    "geo.detect-model": Promise(
        "004 · Choosing the model of each stage, Reasoning",
        "detect_geo runs on the model and level given for it.",
        due=LATER,
    ),
    # web: what the world says about it
    "web.opt-in": Promise(
        "004 · Request, Limitations", "web_search is false by default and searches at most 3 key entities.", due=LATER
    ),
    "web.needs-key": Promise(
        "004 · Request, Configuration",
        "web_search works exactly when ANTHROPIC_API_KEY is set; otherwise 503.",
        due=LATER,
    ),
    "web.artifacts": Promise(
        "004 · Request, How it works",
        "Each result is a web_search artifact with its query, child of the artifact its entity came from, "
        "extracted like a text.",
        due=LATER,
    ),
    "web.response": Promise(
        "004 · Response",
        "web_searches gives entity, query, parent_artifact_id, artifact_id, sources, entities and edges; the "
        "text's own lists stay its own.",
        due=LATER,
    ),
    "web.never-fails-the-call": Promise(
        "004 · How it works",
        "web_search runs after the text is stored and its failure never fails the request.",
        due=LATER,
    ),
    "web.inferences-filed": Promise(
        "004 · Run log",
        "web_search holds all inferences of its work, those of storing its briefings included.",
        due=LATER,
    ),
    "web.model": Promise("001 · Models per stage", "web_search runs on the model named for it.", due=LATER),
    # ask: from a plain question to an answer
    "ask.answers-on-the-server": Promise(
        "003 · Answer questions in plain words",
        "POST /v1/query/ask lets a model query, read rows and answer; it returns the answer, the records it cites, "
        "and the query with its rows.",
        due=5,
    ),
    "ask.no-model-to-choose": Promise(
        "003 · Answer questions in plain words",
        "The request names no model and brings no key.",
        due=5,
        changed="The server's operator sets model and keys, in [ask]; the request still names none.",
    ),
    "ask.routes": Promise(
        "003 · How it works", "A route is lookup, aggregate, search, history, schema or unanswerable.", due=5
    ),
    "ask.router": Promise(
        "003 · How it works",
        "Jev picks the route with a probability for each kind, while the names of the question are looked up.",
        due=5,
        changed="Without Jev a small model call picks it, and without that a rule.",
    ),
    "ask.model": Promise(
        "003 · How it works",
        "Claude Sonnet 5.5 reasons about the question.",
        due=5,
        changed="The default is claude-sonnet-5-5; [ask] model names another, of any provider that can call tools.",
    ),
    "ask.steps": Promise(
        "003 · How it works",
        "The kinds of step: run a query, find a name, describe classes, find a date's commit, compare two points "
        "in time.",
        due=5,
    ),
    "ask.reads-30-rows": Promise(
        "003 · How it works, Limits",
        "Of each query the model sees how many rows there are and at most 30 of them.",
        due=5,
    ),
    "ask.corrects-queries": Promise(
        "003 · How it works, Errors",
        "A step that fails goes back to the model, which tries again; it is no error of the route.",
        due=5,
    ),
    "ask.reads-only": Promise("003 · How it works", "Only SELECT and ASK run.", due=5),
    "ask.adds-prefixes": Promise("003 · How it works", "A known prefix used without a PREFIX line gets one.", due=5),
    "ask.unanswerable": Promise(
        "003 · How it works", "For data the graph lacks, the answer says what is missing.", due=5
    ),
    "ask.search-route": Promise(
        "003 · How it works, The example graph",
        "search queries use search:similarTo on a class with an embedding declared by PUT /v1/embeddings from "
        "named properties.",
        due=5,
    ),
    "ask.old-path": Promise(
        "003 · How it works, Errors",
        "POST /v1/query/rewrite is 404 not_found, and did_you_mean names /v1/query/ask.",
        due=5,
    ),
    "ask.loads-turtle": Promise(
        "003 · The example graph",
        "The example graph loads as Turtle into a named graph and answers the example questions.",
        due=5,
    ),
    "ask.python-client": Promise(
        "003 · Ask a question",
        "query.ask of the public Python client, plain and async, gives answer, citations, chart, steps, rows, "
        "vars, route, query, rationale, history, error and trace_id.",
        due=5,
    ),
    "ask.typescript-client": Promise(
        "003 · Ask a question",
        "query.ask and query.askStream of the public TypeScript client do the same.",
        due=5,
        changed="Held by the shape on the wire alone: the tests run the Python client.",
    ),
    "ask.mcp": Promise(
        "003 · Ask a question",
        "MCP asks a question with context, route, limit, anchor and timeline.",
        due=5,
        changed="The tool is called ask, with modes; docs map the names lbb_query, lbb_configure and lbb_evals.",
    ),
    "ask.mcp-progress": Promise(
        "003 · Show each step", "Steps become progress notifications over MCP for a client that asked for them.", due=5
    ),
    # ask: the request
    "ask.question": Promise("003 · Request fields, Limits", "question has 1 to 4,000 characters.", due=5),
    "ask.context": Promise(
        "003 · Request fields, Notes for the model",
        "context has at most 8,000 characters and reaches the model as sent, so that a provider can cache it.",
        due=5,
    ),
    "ask.limit": Promise(
        "003 · Request fields, Limits", "limit, the rows a query returns, is 1 to 1,000, by default 100.", due=5
    ),
    "ask.as-of-commit-seq": Promise("003 · Request fields", "as_of_commit_seq reads the graph at that commit.", due=5),
    "ask.today": Promise("003 · Request fields", "today is YYYY-MM-DD, by default the server's UTC date.", due=5),
    "ask.include-grounding": Promise(
        "003 · Request fields",
        "With include_grounding true, grounding.text holds what the models were told of the graph.",
        due=5,
    ),
    "ask.anchor-limit": Promise("003 · Request fields", "anchor holds at most 10 IRIs.", due=5),
    "ask.timeline-limit": Promise(
        "003 · Request fields, Limits",
        "timeline holds at most 200 points of date, as_of_commit_seq and an optional label.",
        due=5,
    ),
    "ask.unknown-field": Promise(
        "003 · Request fields, Errors",
        "Invalid JSON or another unknown field is 400 invalid_request; the message lists the fields.",
        due=5,
    ),
    "ask.field-out-of-limits": Promise(
        "003 · Errors", "A field outside its limits is 400 invalid_ask_request; param names it.", due=5
    ),
    "ask.removed-fields": Promise(
        "003 · Request fields, Errors",
        'run, previous and mode "rewrite" are 400 invalid_ask_request; param names the field.',
        due=5,
    ),
    "ask.consistency": Promise(
        "003 · Request fields",
        "With consistency=strong queries see the newest writes; by default (eventual) the latest published commit.",
        due=5,
    ),
    "ask.route-only": Promise(
        "003 · Route only", 'mode "route" calls the router alone: route, attempts 0, no answer and no query.', due=5
    ),
    "ask.fixed-route": Promise(
        "003 · Fix the route, Request fields",
        "route in the request fixes the kind and the router is not called.",
        due=5,
    ),
    # ask: the response
    "ask.citations-were-read": Promise(
        "003 · What the response holds", "answer.citations are IRIs that the model read; any other is removed.", due=5
    ),
    "ask.citations-match-rows": Promise(
        "003 · What the response holds",
        "Cited records that are not in the answer's rows, or rows left out, send the answer back to the model, once.",
        due=5,
    ),
    "ask.labels-are-cited": Promise(
        "003 · What the response holds", "Rows named by label without any citation send the answer back, once.", due=5
    ),
    "ask.route-fields": Promise(
        "003 · What the response holds",
        "route has kind, confidence, probabilities and by: router, rewriter (the model chose another) or caller.",
        due=5,
    ),
    "ask.query-field": Promise(
        "003 · What the response holds",
        "query holds sparql, PREFIX lines included, and entailment of what the answer rests on, be it a comparison's.",
        due=5,
    ),
    "ask.result-field": Promise(
        "003 · What the response holds",
        "result is a POST /v1/query/sparql-text response with results, row_page, snapshot, search and trace_id; "
        "absent for a comparison.",
        due=5,
    ),
    "ask.steps-field": Promise(
        "003 · What the response holds",
        "steps in order have n, tool, input, ok, rows, error and ms; tool is sparql, find_entities, describe, "
        "commit_for_date or compare.",
        due=5,
    ),
    "ask.rationale": Promise(
        "003 · What the response holds", "rationale is one sentence: which rows answer the question.", due=5
    ),
    "ask.stopped-early": Promise(
        "003 · What the response holds, Errors",
        "A model that stops before it answers is 200 without answer; error says why, result holds the best rows.",
        due=5,
    ),
    "ask.attempts": Promise("003 · What the response holds", "attempts counts the queries the model ran.", due=5),
    "ask.grounding-field": Promise(
        "003 · What the response holds",
        "grounding has commit_seq, classes, properties, embeddings, focus_classes, focus_properties, "
        "profile_version and names.",
        due=5,
    ),
    "ask.models-field": Promise(
        "003 · What the response holds",
        "models has one entry per call with role, provider, model, ok, ms, tokens and cost_micro_usd.",
        due=5,
    ),
    "ask.timings-field": Promise(
        "003 · What the response holds",
        "timings has ground_ms, route_ms, rewrite_ms, run_ms, total_ms, link_ms and anchor_ms; the last two "
        "overlap route_ms.",
        due=5,
    ),
    "ask.records-a-trace": Promise(
        "003 · What the response holds",
        "Asking leaves an eval trace: the question, with the query that answers it.",
        due=5,
    ),
    # ask: what the model knows of the graph before it starts
    "grounding.content": Promise(
        "003 · How it works",
        "The description has classes with counts, properties of the largest ones with a short example, OWL and "
        "RDFS statements, and classes searchable by meaning.",
        due=5,
    ),
    "grounding.kept-10-minutes": Promise(
        "003 · How it works", "The description is kept for 10 minutes and reused.", due=5
    ),
    "grounding.focus": Promise(
        "003 · How it works",
        "With many classes, the classes and properties that match the question's words are added, with all their "
        "properties.",
        due=5,
    ),
    "grounding.profile": Promise(
        "003 · How it works, Notes for every question",
        "The graph's profile goes to the model with every question.",
        due=5,
    ),
    # stream: the steps as they happen
    "stream.accept-header": Promise(
        "003 · Show each step",
        "Accept: text/event-stream answers with server-sent events, each with a name and JSON data on one line.",
        due=5,
    ),
    "stream.grounding-event": Promise(
        "003 · Show each step", "grounding (cached, age_ms, classes) comes when the description is ready.", due=5
    ),
    "stream.route-event": Promise(
        "003 · Show each step",
        "route (kind, confidence, by, probabilities) comes when known, a second before answer if the model chose "
        "another.",
        due=5,
    ),
    "stream.step-event": Promise(
        "003 · Show each step",
        "step (n, tool, input, ok, rows) comes when a step ended; input is one line without PREFIX lines.",
        due=5,
    ),
    "stream.answer-event": Promise(
        "003 · Show each step", "answer (text, citations, chart) comes just before done.", due=5
    ),
    "stream.done-event": Promise(
        "003 · Show each step", "done is last and equals the response without the header.", due=5
    ),
    "stream.error-event": Promise(
        "003 · Show each step",
        "error (status, code, message) is last when the request failed, with the status and code of the plain call.",
        due=5,
    ),
    "stream.early-errors": Promise(
        "003 · Show each step",
        "A bad request, the daily limit and failed authentication keep their HTTP status and JSON, before any event.",
        due=5,
    ),
    "stream.hang-up": Promise(
        "003 · Show each step", "When the client closes, the work stops and no more models are called.", due=5
    ),
    "stream.python-client": Promise(
        "003 · Show each step",
        "query.ask_stream of the public Python client yields the events and raises on error.",
        due=5,
    ),
    # chart: how to draw the rows
    "chart.fields": Promise(
        "003 · Draw the chart",
        "answer.chart has kind bar, line, scatter or table; x, y and series name columns.",
        due=5,
    ),
    "chart.checked": Promise(
        "003 · Draw the chart",
        "Columns must exist; y is numeric for bar and line, x and y for scatter; a hint that does not fit is "
        "dropped, the answer stays.",
        due=5,
    ),
    "chart.absent": Promise(
        "003 · Draw the chart", "Rows that make no chart, such as one number or a yes or no, have none.", due=5
    ),
    "chart.bar-over-time": Promise(
        "003 · Draw the chart", "Dates, years or year-months in order on the x of a bar turn it into a line.", due=5
    ),
    # profile: notes that hold for every question of a graph
    "profile.fields": Promise(
        "003 · Notes for every question, Limits",
        "A profile has notes, at most 8,000 characters, and at most 20 examples of question and sparql.",
        due=5,
    ),
    "profile.example-limits": Promise(
        "003 · Limits", "Each example query is limited to 4,000 characters and their sum to 32,000.", due=5
    ),
    "profile.read": Promise(
        "003 · Notes for every question", "GET /v1/query/rewrite/profile returns the profile with its version.", due=5
    ),
    "profile.version": Promise("003 · Notes for every question", "Each PUT adds 1 to the version.", due=5),
    "profile.conflict": Promise(
        "003 · Notes for every question, Errors",
        "A PUT with another expected_version than the stored one is 409 conflict and stores nothing.",
        due=5,
    ),
    "profile.dry-run": Promise("003 · Notes for every question", "dry_run=true checks and stores nothing.", due=5),
    "profile.examples-parsed": Promise(
        "003 · Notes for every question, Errors",
        "An example that does not parse or is neither SELECT nor ASK is 400 invalid_rewrite_profile; param is "
        "notes or examples.",
        due=5,
    ),
    "profile.cleared": Promise(
        "003 · Notes for every question", "A profile without notes and examples is a cleared one.", due=5
    ),
    "profile.with-context": Promise(
        "003 · Notes for every question", "context adds its notes to the profile's for one call.", due=5
    ),
    "profile.clients": Promise(
        "003 · Notes for every question",
        "rewrite_profile and set_rewrite_profile of the public Python client, and MCP, read and write it.",
        due=5,
    ),
    # tools: the four routes for an agent of one's own
    "tools.reads-without-a-model": Promise(
        "003 · Use the tools in your own agent",
        "names, describe, commit-at and compare call no model and are reads with the usual API key.",
        due=5,
    ),
    # names: the records a question names
    "names.no-model": Promise(
        "003 · Names in the question",
        "Names are looked up before the model starts, with no model call, and their IRIs are given to it.",
        due=5,
    ),
    "names.properties-read": Promise(
        "003 · Names in the question",
        "rdfs:label and properties whose name is a name, label or title (name, legalName, title) are read.",
        due=5,
    ),
    "names.ignored-differences": Promise(
        "003 · Names in the question",
        "Letter case, accents, punctuation and legal forms (GmbH) make no difference.",
        due=5,
    ),
    "names.fuzzy": Promise(
        "003 · Names in the question", "One or two wrong letters do not keep a name from being found.", due=5
    ),
    "names.acronym": Promise(
        "003 · Names in the question",
        "An acronym inside a longer name matches: TU Dresden finds Technische Universität Dresden.",
        due=5,
    ),
    "names.asking-words": Promise(
        "003 · Names in the question",
        "The verb that opens a question, be it Summarize, Compare or Describe, is never linked.",
        due=5,
    ),
    "names.sentence-capital": Promise(
        "003 · Names in the question", "A capital that only starts a sentence makes no name.", due=5
    ),
    "names.exact-only": Promise(
        "003 · Names in the question",
        "A lone acronym, a short lower-case word or a short code links only to a record of exactly that name.",
        due=5,
    ),
    "names.people-first": Promise(
        "003 · Names in the question",
        "People and organizations come first, documents, notes, messages and mentions last, judged by class name "
        "and superclasses.",
        due=5,
    ),
    "names.linked": Promise(
        "003 · Names in the question",
        "linked lists text, iri, label, class, score and by: exact, partial, fuzzy or acronym.",
        due=5,
    ),
    "names.up-to-three": Promise(
        "003 · Names in the question", "A name has at most three matches under the same text, the best first.", due=5
    ),
    "names.refreshed-behind": Promise(
        "003 · Names in the question",
        "After a commit names are read again in the background; until then questions link with the earlier ones.",
        due=5,
    ),
    "names.common-words": Promise(
        "003 · Names in the question", "Words shared by the names of many records link to none of them.", due=5
    ),
    "names.route": Promise(
        "003 · Use the tools in your own agent",
        "POST /v1/query/names gives every name's IRI and the other candidates, best first.",
        due=5,
    ),
    "names.commit-seq": Promise(
        "003 · Use the tools in your own agent", "commit_seq tells how far the index of names has come.", due=5
    ),
    "names.min-commit-seq": Promise(
        "003 · Use the tools in your own agent",
        "min_commit_seq waits a few seconds for the index, then answers 429 read_your_writes_pending.",
        due=5,
    ),
    "names.every-class": Promise(
        "003 · Use the tools in your own agent",
        "rdfs:label, skos:prefLabel and schema:name link in a class of any size.",
        due=5,
    ),
    "names.index-gaps": Promise(
        "003 · Use the tools in your own agent",
        "index_complete false comes with index_gaps, the classes not read in full.",
        due=5,
    ),
    # anchors: the records the user picked
    "anchors.read": Promise(
        "003 · Records the user picked",
        "Types, label and links of each anchor are read, and the model uses the IRI without a search.",
        due=5,
    ),
    "anchors.reported": Promise(
        "003 · Records the user picked, What the response holds", "anchors says what was read about each IRI.", due=5
    ),
    "anchors.unknown": Promise(
        "003 · Records the user picked",
        "An IRI the graph lacks gets a note, and the question is still answered.",
        due=5,
    ),
    # commits: the graph as it was
    "commits.of-a-date": Promise(
        "003 · Questions about the past",
        "A date in the question stands for the state at the end of that day, UTC.",
        due=5,
    ),
    "commits.history-field": Promise(
        "003 · Questions about the past",
        "history has as_of_commit_seq and resolved_by: commit_time, timeline or request.",
        due=5,
    ),
    "commits.timeline": Promise(
        "003 · Questions about the past",
        "With timeline, the last point not after the date is read and its label repeated in history.label.",
        due=5,
    ),
    "commits.never-another": Promise(
        "003 · Questions about the past",
        "A past date is never answered from another commit: the step fails and the answer says what the graph "
        "cannot tell.",
        due=5,
    ),
    "commits.before-the-first": Promise(
        "003 · Questions about the past",
        "A date before the first commit, or before the first timeline point, cannot be placed.",
        due=5,
    ),
    "commits.without-time": Promise(
        "003 · Questions about the past, Use the tools in your own agent",
        "Commits of older servers record no time; a note names the first that does.",
        due=5,
        changed="Every commit here records its time, so only dates before the first commit get a note.",
    ),
    "commits.commit-at": Promise(
        "003 · Use the tools in your own agent",
        "GET /v1/graph/commit-at takes date=YYYY-MM-DD or moment= an RFC 3339 time and names the last commit by then.",
        due=5,
    ),
    "commits.look-up-limits": Promise(
        "003 · Limits",
        "One look-up of a date reads at most 512 generations in 8 seconds, and the next goes on from there.",
        due=5,
        changed="Commit times are indexed in SQL, so a look-up needs no such limits.",
    ),
    # compare: what changed
    "compare.step": Promise(
        "003 · Questions about the past",
        "compare runs one query at two points, the later being as_of_commit_seq or the latest, and pairs rows by "
        "record.",
        due=5,
    ),
    "compare.history": Promise(
        "003 · Questions about the past",
        "history then has compare true, the earlier point, key, added, removed, changed (rows at both points) and "
        "totals.",
        due=5,
    ),
    "compare.history-500": Promise(
        "003 · Questions about the past",
        "Each list shows at most 500 entries; truncated is true beyond, or when a point was not read whole.",
        due=5,
    ),
    "compare.route": Promise(
        "003 · Use the tools in your own agent",
        "POST /v1/query/compare takes one SELECT, before, after (default the latest; a commit, date or moment) and "
        "key.",
        due=5,
    ),
    "compare.lists": Promise(
        "003 · Use the tools in your own agent",
        "It returns added, removed and changed with totals, each paged by next_cursor.",
        due=5,
    ),
    "compare.cursor": Promise(
        "003 · Use the tools in your own agent",
        "cursor with the same request gives the next entries and keeps both commits.",
        due=5,
    ),
    "compare.max-rows": Promise(
        "003 · Use the tools in your own agent",
        "max_rows is 20,000 by default, at most 50,000, at each point; reading stops early near the deadline.",
        due=5,
    ),
    "compare.truncated": Promise(
        "003 · Use the tools in your own agent",
        "An incomplete point is told by truncated: true and a note, and by its own rows and total.",
        due=5,
    ),
    # describe: classes and properties an agent has not seen
    "describe.route": Promise(
        "003 · Use the tools in your own agent",
        "POST /v1/query/describe takes a question, or classes and properties as IRIs.",
        due=5,
    ),
    "describe.property-counts": Promise(
        "003 · Use the tools in your own agent",
        "Beside each property stands how many sampled instances of the class have it.",
        due=5,
    ),
    "describe.small-classes": Promise(
        "003 · Use the tools in your own agent", "A class of at most 30 instances lists them with their values.", due=5
    ),
    "describe.text": Promise(
        "003 · Use the tools in your own agent", "text is the same description for a prompt.", due=5
    ),
    "describe.mcp-modes": Promise(
        "003 · Use the tools in your own agent", "MCP offers names, describe, commit_at and compare as modes.", due=5
    ),
    # evals: answers become test cases
    "evals.request-records-a-trace": Promise(
        "003 · Test your agent's answers",
        "A query sent with request and route records an eval trace with both; without request there is none.",
        due=5,
    ),
    "evals.label": Promise(
        "003 · Test your agent's answers",
        "A label valid true makes the query the golden and its route the golden's; route in the label names another.",
        due=5,
    ),
    "evals.goldens": Promise("003 · Test your agent's answers", "GET /v1/evals/goldens lists the goldens.", due=5),
    "evals.run-answers": Promise(
        "003 · Test your agent's answers",
        "POST /v1/evals/run/answers takes runner and answers of golden, sparql, entailment, route, reply or error.",
        due=5,
    ),
    "evals.checks": Promise(
        "003 · Test your agent's answers",
        "A query sent is run and judged three ways: its type, its rows against the golden's, and the judged rows.",
        due=5,
    ),
    "evals.unanswerable": Promise(
        "003 · Test your agent's answers", "An answer without sparql says the question is unanswerable.", due=5
    ),
    "evals.route-check": Promise(
        "003 · Test your agent's answers",
        "route_check scores the router against the golden's route, apart from the verdict.",
        due=5,
    ),
    "evals.results-by-runner": Promise(
        "003 · Test your agent's answers",
        "GET /v1/evals/results?runner=NAME shows one runner's runs, apart from all others.",
        due=5,
    ),
    "evals.clients": Promise(
        "003 · Test your agent's answers",
        "evals.run_answers of the public Python client, and MCP, send the answers.",
        due=5,
    ),
    # ask: limits and errors
    "ask.error-envelope": Promise(
        "003 · Show each step, Errors",
        "A failure is a JSON object error with code, message and, where it says so, param.",
        due=5,
    ),
    "ask.daily-limit": Promise(
        "003 · Limits, Errors",
        "At most 500 questions per UTC day, then 429 rewrite_limit; a bad body does not count.",
        due=5,
        changed="The count is kept in SQL, so it holds across processes.",
    ),
    "ask.deadline": Promise(
        "003 · Limits", "ask stops at its 60-second read deadline, other reads at 25 seconds.", due=5
    ),
    "ask.rounds-and-steps": Promise(
        "003 · How it works, Limits", "After 4 rounds or 12 steps the model has to answer.", due=5
    ),
    "ask.query-time": Promise("003 · Limits", "8 seconds for a query, 12 for a comparison.", due=5),
    "ask.citation-limit": Promise("003 · Limits", "An answer cites at most 20 records.", due=5),
    "ask.one-commit": Promise(
        "003 · Limits", "A query reads one commit, a comparison two, one after the other.", due=5
    ),
    "ask.no-model": Promise(
        "003 · Errors", "No model, or one that did not answer, is 503 rewrite_model_unavailable.", due=5
    ),
    "ask.model-retry": Promise(
        "003 · Errors",
        "A model call that failed on the way is sent once more when time allows; models lists both.",
        due=5,
    ),
    # privacy: what leaves the server for a model provider
    "privacy.listed-texts": Promise(
        "003 · What leaves little big brain",
        "Only the listed texts leave: question, context, profile, linked and anchored records, schema, examples, "
        "embedding fields and step results.",
        due=5,
    ),
    "privacy.router-sees-less": Promise(
        "003 · What leaves little big brain",
        "The profile and what the steps return go to the answering model's provider only.",
        due=5,
    ),
    "privacy.examples": Promise(
        "003 · What leaves little big brain",
        "Examples are cut at 48 characters and drawn from no more than 100 records of a large class.",
        due=5,
    ),
    "privacy.anchor-links": Promise(
        "003 · What leaves little big brain", "Links of an anchor go out with at most three linked records each.", due=5
    ),
    "privacy.rows": Promise(
        "003 · What leaves little big brain",
        "Of a query no more than 30 rows leave, values cut at 200 characters; of each list of a comparison, 30 "
        "entries.",
        due=5,
    ),
}
