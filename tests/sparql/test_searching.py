"""Search by meaning: classes are declared, their records embedded behind the commits, and found by words."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncGenerator, Collection
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from lbb import models

from core.config import Config
from core.core import Core
from core.embeddings.declare import DeclareEmbeddingRequest, declare_embedding
from core.embeddings.embeddings import (
    DeleteEmbeddingRequest,
    EmbeddingsRequest,
    RefreshEmbeddingRequest,
    delete_embedding,
    embeddings,
    refresh_embedding,
)
from core.embeddings.keep import Keeper, Pass, catch_up
from core.embeddings.recipe import digest_of
from core.embeddings.records import record_texts
from core.embeddings.search import SearchRequest, search
from core.engine import PromptedEngine
from core.errors import InvalidRequest, NoEmbedding, NotConfigured, NotFound, NotYetVisible
from core.sparql.sparql import SparqlRequest, sparql
from gligabao_mcp.providers.scripted import HashEmbedder, ScriptedModel
from gligabao_mcp.wiring import Providers, open_core
from storage.embeddings import SqlEmbeddings
from tests.conftest import Opener, Tables
from tests.facts import edge, tell_facts, verdict, verdicts
from tests.forgetting import correct_it, forget_it, id_of, merge_them, undo_it
from tests.requirements import requirement
from tests.sparql.catalog import FIRST, PREFIXES, SECOND, load, update

pytestmark = pytest.mark.anyio

SERVICE = "https://catalog.test/kind/Service"
TEAM = "https://catalog.test/field/team"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
NAMES, TEAMS = ("tills", "refunds", "stock", "new"), ("checkout", "warehouse")
TILLS = """<https://catalog.test/record/tills> a <https://catalog.test/kind/Service> ;
<http://www.w3.org/2000/01/rdf-schema#label> "till-gateway" ;
<https://catalog.test/field/team> <https://catalog.test/record/checkout> ; <https://catalog.test/field/level> 1 ;
<https://catalog.test/field/description> "accepts card payments from shop tills" ."""
BY_CARD = (
    'SELECT ?s ?score { ?s search:similarTo "accepts card payments" ; search:score ?score . ?s field:team r:checkout } '
    "ORDER BY DESC(?score)"
)


async def declare(core: Core, **fields: Any) -> models.EmbeddingStatus:
    stated = {"user_id": "u1", "class": SERVICE, "from": ["label", "description"], **fields}
    request = DeclareEmbeddingRequest.model_validate(stated)
    return models.EmbeddingStatus.model_validate((await declare_embedding(core, request)).body())


async def shown(core: Core, name: str = "service") -> models.EmbeddingStatus:
    return models.EmbeddingStatus.model_validate(
        (await embeddings(core, EmbeddingsRequest(user_id="u1", name=name))).body()
    )


async def ready(core: Core, entries: int, name: str = "service") -> models.EmbeddingStatus:
    """Waits until the embedding has followed to the newest commit."""
    status = await shown(core, name)
    for _ in range(400):
        assert status.serving is not None
        if (status.serving.state.value, status.serving.entries, status.lag_commits) == ("ready", entries, 0):
            return status
        await asyncio.sleep(0.05)
        status = await shown(core, name)
    raise AssertionError(f"the embedding stands at {status}")


async def searched(core: Core, query: str, **fields: Any) -> tuple[list[str], models.SparqlSearchReport]:
    """The last part of each record's IRI, and the report, as the client's models read it."""
    response = await sparql(core, SparqlRequest(user_id="u1", query=PREFIXES + query, **fields))
    read = models.SparqlTextResponse.model_validate(response.body())
    assert read.search is not None
    rows = json.loads(read.results)["results"]["bindings"]
    return [row["s"]["value"].rpartition("/")[2] for row in rows], read.search


@pytest.fixture
async def catalog(core: Core) -> AsyncGenerator[Core]:
    """The catalogue with an embedding of its services."""
    await load(core, FIRST)
    await declare(core)
    await ready(core, 4)
    yield core


async def test_a_declared_class_is_embedded_in_the_background(core: Core, embedder: HashEmbedder) -> None:
    await load(core, FIRST)
    declared = await declare(core, **{"from": ["label", "description", "team/label"], "title": "label"})
    assert (declared.name, declared.class_, declared.recipe.title) == ("service", SERVICE, [RDFS_LABEL])
    assert [(field.name, len(field.path), field.max) for field in declared.recipe.fields] == [
        ("label", 1, 10),
        ("description", 1, 10),
        ("team", 2, 10),
    ]
    status = await ready(core, 4)
    assert status.serving is not None and (status.serving.version, status.serving.usage.texts) == (1, 4)
    assert "label: till-gateway\ndescription: accepts card payments from shop tills\nteam: checkout team" in [
        text for batch in embedder.batches for text in batch
    ]
    listed = models.EmbeddingListResponse.model_validate(
        (await embeddings(core, EmbeddingsRequest(user_id="u1"))).body()
    )
    assert ([one.name for one in listed.embeddings], listed.model_id, listed.dim) == (["service"], "hash-1", 64)


async def test_after_a_commit_only_what_changed_is_embedded_and_what_is_gone_goes(
    catalog: Core, embedder: HashEmbedder
) -> None:
    embedder.batches.clear()
    await update(catalog, SECOND)  # a level is no part of a text
    await ready(catalog, 5)
    assert embedder.batches == [["label: loyalty-points\ndescription: keeps the loyalty points of shoppers"]]
    gone = f"DELETE DATA {{ <https://catalog.test/record/tills> a <{SERVICE}> }}"
    await update(catalog, gone)
    await ready(catalog, 4)
    assert len(embedder.batches) == 1
    names, report = await searched(catalog, 'SELECT ?s { ?s search:similarTo "accepts card payments" }')
    assert ("tills" in names, report.entries_considered) == (False, 4)


@requirement("ask.search-route")
async def test_the_nearest_records_that_the_rest_of_the_query_lets_through_are_bound(catalog: Core) -> None:
    names, report = await searched(catalog, BY_CARD)
    assert names == ["tills", "refunds"]
    assert (report.hits, report.top, report.complete, report.lag_commits) == (2, 10, True, 0)
    assert (report.embeddings, report.model_id, report.usage.texts) == (["service"], "hash-1", 1)
    best, _ = await searched(catalog, BY_CARD + " LIMIT 1")
    assert best == ["tills"]
    like, report = await searched(catalog, "SELECT ?s { ?s search:similarTo r:tills ; search:top 2 }")
    assert (len(like), "tills" in like, report.usage.texts) == (2, False, 0)
    stated = json.dumps([0.5] * 64)
    assert len((await searched(catalog, f'SELECT ?s {{ ?s search:similarTo "{stated}" ; search:top 3 }}'))[0]) == 3


async def test_a_search_goes_on_until_enough_records_pass(core: Core) -> None:
    many = "\n".join(f"<urn:near:{n}> a <urn:Thing> ; <urn:says> 'blue sky over water {n}' ." for n in range(300))
    far = "<urn:far:1> a <urn:Thing> ; <urn:says> 'red bricks' ; <urn:kind> 'rare' ."
    await load(core, many + far)
    await declare(core, **{"class": "urn:Thing", "from": ["says"]})
    await ready(core, 301, "thing")
    query = 'SELECT ?s { ?s search:similarTo "blue sky over water" ; search:top 1 . ?s <urn:kind> "rare" }'
    response = await sparql(core, SparqlRequest(user_id="u1", query=query))
    assert response.search is not None
    assert (response.row_page.returned, response.search.rounds, response.search.plan) == (1, 2, "filter_first")
    assert (response.search.complete, response.search.candidates) == (True, 1)
    by_score = query.replace("top 1", "top 1 ; search:score ?n").replace("}", "FILTER(?n < 0.9) }")
    report = (await sparql(core, SparqlRequest(user_id="u1", query=by_score))).search
    assert report is not None and (report.hits, report.plan, report.candidates) == (1, "search_first", 301)
    none = query.replace('"rare"', '"none"')
    report = (await sparql(core, SparqlRequest(user_id="u1", query=none))).search
    assert report is not None and (report.hits, report.complete) == (0, True)


async def test_a_record_that_left_the_graph_is_not_found_before_its_entry_goes(
    catalog: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: object) -> bool:
        return False

    monkeypatch.setattr(type(catalog.embeddings), "claim", never)
    await update(catalog, "DELETE DATA { " + TILLS.replace("\n", " ") + " }")
    names, report = await searched(catalog, 'SELECT ?s { ?s search:similarTo "accepts card payments" }')
    assert ("tills" in names, report.lag_commits, report.entries_considered) == (False, 1, 4)


async def found(core: Core, text: str, **fields: Any) -> models.SearchResponse:
    """The response, as the client's models read it."""
    request = SearchRequest.model_validate({"user_id": "u1", "text": text, **fields})
    return models.SearchResponse.model_validate((await search(core, request)).body())


async def test_records_are_found_by_words_alone_with_their_labels(catalog: Core) -> None:
    answer = await found(catalog, "accepts card payments", top_k=2, include=["text"])
    best, second = answer.hits
    assert (best.label, best.class_, best.embedding) == ("till-gateway", SERVICE, "service")
    assert best.text == "label: till-gateway\ndescription: accepts card payments from shop tills"
    assert best.score > second.score
    (searched_one,) = answer.embeddings
    assert (searched_one.name, searched_one.hits, searched_one.lag_commits) == ("service", 2, 0)
    assert (answer.entries_considered, answer.usage.texts, answer.not_ready) == (4, 1, None)


@pytest.mark.parametrize(
    ("condition", "labels"),
    [
        ({"via": "team", "to": "Warehouse Team"}, {"stock-tracker", "mail-sender"}),
        ({"via": "team", "to": ["https://catalog.test/record/checkout"]}, {"till-gateway", "refund-worker"}),
        (
            {"via": "<https://catalog.test/field/hit>", "to": "https://catalog.test/record/freeze", "direction": "in"},
            {"till-gateway"},
        ),
        ({"class": ["https://catalog.test/kind/Team", "https://catalog.test/kind/Outage"]}, frozenset[str]()),
        ({"class": SERVICE}, {"till-gateway", "refund-worker", "stock-tracker", "mail-sender"}),
    ],
)
async def test_a_filter_keeps_the_records_that_meet_it(
    catalog: Core, condition: dict[str, Any], labels: Collection[str]
) -> None:
    assert {hit.label for hit in (await found(catalog, "anything", filter=[condition])).hits} == labels


async def test_a_search_waits_for_the_commit_that_it_is_told_of(catalog: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    await update(catalog, SECOND)
    answer = await found(catalog, "loyalty points of shoppers", min_commit_seq=2)
    assert answer.hits[0].label == "loyalty-points"
    monkeypatch.setattr("core.embeddings.search.WAIT", 0.0)
    with pytest.raises(NotYetVisible):
        await found(catalog, "loyalty", min_commit_seq=3)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"embedding": "other"}, "embedding"),
        ({"filter": [{"via": "nothing", "to": "x:y"}]}, "filter"),
        ({"filter": [{"via": "team", "to": "no such team"}]}, "filter"),
    ],
)
async def test_a_search_among_nothing_is_refused(catalog: Core, fields: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await found(catalog, "anything", **fields)
    assert refused.value.param == param


@pytest.mark.parametrize(
    "fields",
    [
        {"filter": [dict[str, str]()]},
        {"filter": [{"via": "team"}]},
        {"filter": [{"class": "a", "to": "b"}]},
        {"top_k": 0},
        {"rerank": True},
    ],
)
def test_a_search_outside_its_limits_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        SearchRequest.model_validate({"user_id": "u1", "text": "w", **fields})


async def test_another_recipe_is_another_version_and_the_same_one_is_not(catalog: Core, embedder: HashEmbedder) -> None:
    embedder.batches.clear()
    same = await declare(catalog)
    assert same.serving is not None and (same.serving.version, same.serving.entries) == (1, 4)
    kept = await declare(catalog, **{"from": None})
    assert kept.serving is not None and kept.serving.version == 1
    other = await declare(catalog, **{"from": ["label"]})
    assert other.serving is not None
    assert (other.serving.version, other.serving.state.value, other.serving.entries) == (2, "backfilling", 0)
    await ready(catalog, 4)
    assert sum(map(len, embedder.batches)) == 4


async def test_without_named_fields_the_records_own_words_are_taken(core: Core) -> None:
    await load(core, FIRST)
    chosen = await declare(core, **{"from": None, "exclude": ["description"]})
    assert [field.name for field in chosen.recipe.fields] == ["label", "team"]


async def test_what_was_remembered_is_embedded_by_the_name_of_its_type(core: Core) -> None:
    await tell_facts(core, edge("Alice", "lives_in", "Paris"))
    await declare(core, **{"class": "other", "name": "told", "from": ["label", "lives_in/label"]})
    await ready(core, 2, "told")
    names, _ = await searched(
        core, 'SELECT ?s { ?p search:similarTo "lives in Paris" . ?p rel:lives_in ?l BIND(?p AS ?s) }'
    )
    assert len(names) == 1


async def test_refresh_embeds_at_once_and_delete_takes_everything_away(catalog: Core, tables: Tables) -> None:
    request = RefreshEmbeddingRequest(user_id="u1", name="service")
    done = models.EmbeddingRefreshResponse.model_validate((await refresh_embedding(catalog, request)).body())
    assert [(step.action.value, step.scanned, step.embedded, step.reused) for step in done.steps] == [("idle", 0, 0, 0)]
    with pytest.raises(InvalidRequest, match="confirm: must be the name"):
        await delete_embedding(catalog, DeleteEmbeddingRequest(user_id="u1", name="service", confirm="yes"))
    await delete_embedding(catalog, DeleteEmbeddingRequest(user_id="u1", name="service", confirm="service"))
    assert (tables.count("gb_embeddings"), tables.count("gb_embedding_entries")) == (0, 0)
    with pytest.raises(NotFound):
        await shown(catalog)
    with pytest.raises(NoEmbedding):
        await searched(catalog, BY_CARD)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"from": ["nothing"]}, "from: the records have no property of a name in it; theirs are"),
        ({"from": ["a/b/c"]}, "from: a path is a property, or a link and a property"),
        ({"from": ["no:where"]}, "from: has a prefix that the graph does not know"),
        ({"class": "https://a b"}, "class: must be an IRI"),
        ({"class": "gb:Artifact"}, "class: facts and artifacts are no records that can be embedded"),
        ({"class": "urn:Nothing", "from": None, "exclude": ["label"]}, "exclude: leaves no field"),
        ({"model": "another"}, "model: this server embeds with hash-1, 64"),
        ({"dim": 3}, "dim: this server embeds with hash-1, 64"),
        ({"title": "nothing"}, "title: the records have no property"),
    ],
)
async def test_a_declaration_that_means_nothing_is_refused(core: Core, fields: dict[str, Any], said: str) -> None:
    await load(core, FIRST)
    with pytest.raises(InvalidRequest, match=f"^{said}"):
        await declare(core, **fields)


async def test_without_an_embedder_nothing_is_declared_and_nothing_is_lost(
    config: Config, model: ScriptedModel, opened: Opener
) -> None:
    async with opened() as core:
        await load(core, FIRST)
        await declare(core)
        await ready(core, 4)
    async with open_core(config, Providers(PromptedEngine(model))) as plain:
        with pytest.raises(NotConfigured):
            await declare(plain)
        with pytest.raises(NotConfigured, match="words can't be searched for"):
            await searched(plain, BY_CARD)
        assert (await searched(plain, "SELECT ?s { ?s search:similarTo r:tills ; search:top 1 }"))[1].hits == 1
        await update(plain, SECOND)
    async with opened() as core:
        await ready(core, 5)


async def test_an_embedder_that_fails_is_asked_again(catalog: Core, embedder: HashEmbedder) -> None:
    embedder.fails()
    await update(catalog, SECOND)
    await asyncio.sleep(0)
    for _ in range(200):
        if embedder.batches and "loyalty-points" in embedder.batches[-1][0]:
            break
        await asyncio.sleep(0.05)
    catalog.keeper.wake()
    status = await ready(catalog, 5)
    assert status.serving is not None and status.serving.usage.texts == 5


async def test_two_processes_embed_each_record_once(opened: Opener, embedder: HashEmbedder) -> None:
    async with opened() as core, opened() as other:
        assert isinstance(other.embeddings, SqlEmbeddings)
        other.embeddings.owner = "another host|1|1"
        many = "\n".join(f"<urn:thing:{n}> a <urn:Thing> ; <urn:says> 'thing number {n}' ." for n in range(200))
        await load(core, many)
        await declare(core, **{"class": "urn:Thing", "from": ["says"]})
        other.keeper.wake()
        refresh = RefreshEmbeddingRequest(user_id="u1", name="thing")
        await asyncio.gather(refresh_embedding(core, refresh), refresh_embedding(other, refresh))
        await ready(core, 200, "thing")
    texts = [text for batch in embedder.batches for text in batch]
    assert len(texts) == len({*texts}) == 200


async def test_users_and_graphs_do_not_see_each_others_embeddings(catalog: Core) -> None:
    await load(catalog, FIRST, user_id="u2")
    theirs = await embeddings(catalog, EmbeddingsRequest(user_id="u2"))
    assert theirs.body() == {"embeddings": []}
    with pytest.raises(NoEmbedding):
        await sparql(catalog, SparqlRequest(user_id="u2", query=PREFIXES + BY_CARD))


async def is_as_fresh(core: Core, name: str) -> Pass | None:
    """Looks at what changed; then the entries are those that a fresh embedding would have. What the look did."""
    dataset = await core.graph.dataset("u1", "main")
    assert dataset is not None and core.embedder is not None
    kept = next(one for one in await core.embeddings.all(dataset) if one.name == name)
    done = await catch_up(core, core.embedder, dataset, kept)
    found = [one async for one in record_texts(core.queries, dataset, kept.recipe)]
    texts = {iri: digest_of(text) for one in found for iri, text in one.texts.items()}
    assert await core.embeddings.digests(kept) == texts
    return done


@pytest.fixture
async def still(monkeypatch: pytest.MonkeyPatch, opened: Opener) -> AsyncGenerator[Core]:
    """A memory in which nothing is embedded in the background."""

    async def wait(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Keeper, "keep_up", wait)
    async with opened() as core:
        yield core


@pytest.mark.parametrize("seed", range(3))
async def test_after_any_loaded_commits_the_entries_are_those_of_a_fresh_embedding(still: Core, seed: int) -> None:
    chance = random.Random(seed)
    await load(still, FIRST)
    await declare(still, **{"name": "kept", "from": ["label", "team/label"]})
    await is_as_fresh(still, "kept")
    for _ in range(15):
        record, team = (f"<https://catalog.test/record/{chance.choice(names)}>" for names in (NAMES, TEAMS))
        verb, label = chance.choice(["INSERT", "DELETE"]), f"<{RDFS_LABEL}> 'name {chance.randrange(3)}'"
        said = chance.choice([f"{record} a <{SERVICE}>", f"{record} {label}", f"{record} <{TEAM}> {team}"])
        await update(still, f"{verb} DATA {{ {chance.choice([said, f'{team} {label}'])} }}")
        if chance.random() < 0.7:
            await is_as_fresh(still, "kept")
    await is_as_fresh(still, "kept")


async def test_after_a_commit_only_the_records_that_it_may_have_changed_are_read(still: Core) -> None:
    await load(still, FIRST)
    await declare(still, **{"name": "kept", "from": ["label", "team/label"]})
    whole = await is_as_fresh(still, "kept")
    await update(still, f"INSERT DATA {{ <https://catalog.test/record/tills> <{RDFS_LABEL}> 'tills' }}")
    one = await is_as_fresh(still, "kept")
    await update(still, f"INSERT DATA {{ <https://catalog.test/record/checkout> <{RDFS_LABEL}> 'checkouts' }}")
    linked = await is_as_fresh(still, "kept")
    await update(still, "INSERT DATA { <urn:other> <urn:says> 1 }")
    none = await is_as_fresh(still, "kept")
    assert [done and (done.scanned, done.spent.texts) for done in (whole, one, linked, none)] == [
        (4, 4),
        (1, 1),
        (2, 2),
        (0, 0),
    ]


async def test_a_record_behind_a_blank_node_is_followed_too(still: Core) -> None:
    await load(still, f"<urn:shop> a <urn:Shop> ; <urn:at> [ <{RDFS_LABEL}> 'High Street' ] .")
    await declare(still, **{"class": "urn:Shop", "from": ["at/label"]})
    await is_as_fresh(still, "shop")
    await load(still, f"<urn:shop2> a <urn:Shop> ; <urn:at> [ <{RDFS_LABEL}> 'Low Street' ] .")
    done = await is_as_fresh(still, "shop")
    assert done is not None and done.scanned == 2


async def test_what_is_told_corrected_merged_forgotten_and_undone_is_followed(
    still: Core, model: ScriptedModel
) -> None:
    long_ago = {"valid_at": "2020-01-01"}
    told = await tell_facts(
        still, edge("Alice", "lives_in", "Paris", **long_ago), edge("Bob", "lives_in", "Rome", **long_ago)
    )
    await declare(still, **{"class": "other", "name": "told", "from": ["label", "lives_in/label"]})
    await is_as_fresh(still, "told")
    model.replies(verdicts(verdict(0, contradicts=[1]), verdict(1)))
    await tell_facts(still, edge("Alice", "lives_in", "Oslo"), edge("Alicia", "lives_in", "Bergen"))
    await is_as_fresh(still, "told")
    await correct_it(still, told.edges[0].id, restate={"target": "Lyon"})
    await is_as_fresh(still, "told")
    merged = await merge_them(still, await id_of(still, "Alice"), await id_of(still, "Alicia"))
    await is_as_fresh(still, "told")
    await undo_it(still, merged)
    await is_as_fresh(still, "told")
    await correct_it(still, told.edges[1].id, invalid_at="2021")
    done = await is_as_fresh(still, "told")
    assert done is not None and done.spent.texts == 1
    gone = await forget_it(still, "entity", await id_of(still, "Paris"))
    await is_as_fresh(still, "told")
    await undo_it(still, gone)
    done = await is_as_fresh(still, "told")
    assert done is not None and done.spent.texts >= 1


async def test_a_fact_that_ended_by_the_clock_is_followed_with_the_next_commit(still: Core) -> None:
    ends = datetime.now(UTC) + timedelta(seconds=1.5)
    await tell_facts(
        still, edge("Alice", "lives_in", "Paris", invalid_at=ends.isoformat()), edge("Bob", "knows", "Eve")
    )
    await declare(still, **{"class": "other", "name": "told", "from": ["label", "lives_in/label"]})
    await is_as_fresh(still, "told")
    await asyncio.sleep((ends - datetime.now(UTC)).total_seconds() + 0.05)
    await tell_facts(still, edge("Carol", "knows", "Dan"))
    done = await is_as_fresh(still, "told")
    assert done is not None and done.spent.texts == 3


async def test_a_forgotten_dataset_is_not_embedded(still: Core, embedder: HashEmbedder) -> None:
    dataset = await load(still, "<urn:a> a <urn:Thing> ; <urn:says> 'blue' .")
    await declare(still, **{"class": "urn:Thing", "from": ["says"]})
    (kept,) = await still.embeddings.all(dataset)
    await forget_it(still, "dataset")
    assert await catch_up(still, embedder, dataset, kept) is None
    assert not embedder.batches


async def test_who_is_overtaken_does_not_lead_an_embedding_back(still: Core) -> None:
    await load(still, FIRST)
    await declare(still)
    dataset = await still.graph.dataset("u1", "main")
    assert dataset is not None
    (before,) = await still.embeddings.all(dataset)
    await is_as_fresh(still, "service")
    await still.embeddings.follow(before, 0)
    assert [one.seq for one in await still.embeddings.all(dataset)] == [1]
