"""search:similarTo in the text of a query: found where it may stand, refused elsewhere, and cut out without a trace."""

from __future__ import annotations

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.embeddings.ports import Near
from core.errors import InvalidRequest
from core.rdf.gate import checked
from core.sparql.similar import MAX_WORDS, Similar, Target, similar_in
from tests.requirements import requirement

LINES = (
    "PREFIX search: <https://littlebigbrain.com/search#>\nPREFIX s: <https://littlebigbrain.com/search#>\n"
    "PREFIX k: <urn:k:>\n"
)


def found(query: str) -> Similar:
    similar = similar_in(LINES + query)
    assert similar is not None
    return similar


def flat(text: str) -> str:
    return " ".join(text.split())


def bound(query: str, *hits: Near) -> str:
    """The query with its hits, which the engine can read."""
    text = found(query).bound(hits or [Near("urn:a", 0.5)])
    ox.Store().query(text)
    return flat(text.removeprefix(LINES))


@pytest.mark.parametrize(
    ("query", "with_hits"),
    [
        (
            'SELECT ?x { ?x search:similarTo "card payments" . ?x k:team k:t }',
            "SELECT ?x { VALUES ?x { <urn:a> } ?x k:team k:t }",
        ),
        (
            'SELECT ?x ?n { ?x a k:S ; search:similarTo "w" ; k:p ?v, "." ; search:score ?n } ORDER BY ?n LIMIT 3',
            'SELECT ?x ?n { VALUES (?x ?n) { (<urn:a> 5.000000e-01) } ?x a k:S ; k:p ?v, "." . } ORDER BY ?n LIMIT 3',
        ),
        (
            'ASK{?x k:p k:o.?x s:similarTo "w".?x s:top 2 OPTIONAL{?x k:q ?y}FILTER(?y > 1)}',
            "ASK{ VALUES ?x { <urn:a> } ?x k:p k:o. OPTIONAL{?x k:q ?y}FILTER(?y > 1)}",
        ),
        (
            'SELECT * { [ k:p (1 [ k:q ?x ]) ] k:of ?x . $x <https://littlebigbrain.com/search#similarTo> "w"@en }',
            "SELECT * { VALUES ?x { <urn:a> } [ k:p (1 [ k:q ?x ]) ] k:of ?x . }",
        ),
        (
            'SELECT (COUNT(?x) AS ?n) { ?x k:a/k:b* ?y ; search:similarTo "w" # ; search:top 3\n } GROUP BY ?y',
            "SELECT (COUNT(?x) AS ?n) { VALUES ?x { <urn:a> } ?x k:a/k:b* ?y . # ; search:top 3 } GROUP BY ?y",
        ),
    ],
)
def test_a_table_of_the_hits_takes_its_place_and_the_rest_stays(query: str, with_hits: str) -> None:
    assert bound(query) == with_hits


def test_without_hits_nothing_is_found() -> None:
    text = found('SELECT ?x ?n { ?x search:similarTo "w" ; search:score ?n }').bound([])
    assert not list(ox.Store().query(text))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("target", "means"),
    [
        ('"card \\"payments\\" \\u00e9\\n"', Target(words='card "payments" é\n')),
        ("'''it's \"so\"'''", Target(words='it\'s "so"')),
        ('"w"^^<urn:text>', Target(words="w")),
        ("k:tills.", Target(iri="urn:k:tills")),
        ("k:a\\/b", Target(iri="urn:k:a/b")),
        ("<urn:x>", Target(iri="urn:x")),
        ("<urn:\\u00e9>", Target(iri="urn:é")),
        ('"[0.5, -1, 2e3]"', Target(vector=(0.5, -1.0, 2000.0))),
        ('"[draft] of a plan"', Target(words="[draft] of a plan")),
        ('"[[1]]"', Target(words="[[1]]")),
    ],
)
def test_words_a_record_or_a_vector_are_searched_for(target: str, means: Target) -> None:
    assert found(f"SELECT ?x {{ ?x search:similarTo {target} }}").target == means


@pytest.mark.parametrize(
    ("query", "top"),
    [
        ('SELECT ?x { ?x search:similarTo "w" }', 10),
        ('SELECT ?x { ?x search:similarTo "w" } LIMIT 3', 3),
        ('SELECT ?x { ?x search:similarTo "w" } OFFSET 4 LIMIT 3', 7),
        ('SELECT ?x { ?x search:similarTo "w" } LIMIT 5000', 1_000),
        ('SELECT ?x { ?x search:similarTo "w" ; search:top 1000 } LIMIT 3', 1_000),
    ],
)
def test_as_many_are_wanted_as_the_query_returns_unless_it_says_so(query: str, top: int) -> None:
    assert found(query).top == top


@requirement("ask.search-route")
@pytest.mark.parametrize(
    ("group", "why"),
    [
        ('OPTIONAL { ?x search:similarTo "w" }', "stand in the main group"),
        ('{ ?x search:similarTo "w" } UNION { ?x k:p 1 }', "stand in the main group"),
        ('?x k:p 1 MINUS { ?x search:similarTo "w" }', "stand in the main group"),
        ('{ SELECT ?x { ?x search:similarTo "w" } }', "stand in the main group"),
        ('SELECT ?x { ?x search:similarTo "w" }', "stand in the main group"),
        ('FILTER EXISTS { ?x search:similarTo "w" }', "stand in the main group"),
        ('FILTER(EXISTS { ?x <https://littlebigbrain.com/search\\u0023similarTo> "w" })', "stand in the main group"),
        ('GRAPH ?g { ?x search:similarTo "w" }', "stand in the main group"),
        ('?y k:p [ search:similarTo "w" ]', "stand in the main group"),
        ('?x ^search:similarTo "w"', "stand in the main group"),
        ('?x search:similarTo/k:p "w"', "takes one text"),
        ("?x ?p search:similarTo", "stand in the main group"),
        ("?x search:score ?n", "stand in the main group"),
        ('?x search:similarTo "w" . ?y search:top 3', "about one variable"),
        ('?x search:similarTo "w" . ?y search:similarTo "v"', "search:similarTo may stand in a query once"),
        ('k:a search:similarTo "w"', "is asked of a variable"),
        ('[] search:similarTo "w"', "is asked of a variable"),
        ("?x search:similarTo ?y", "takes one text, the IRI of a record, or a vector"),
        ('?x search:similarTo "w", "v"', "takes one text"),
        ('?x search:similarTo "  "', "takes a text of 1 to 8,000 characters"),
        ('?x search:similarTo "w" ; search:top 0', "search:top is 1 to 1,000"),
        ('?x search:similarTo "w" ; search:top 1001', "search:top is 1 to 1,000"),
        ('?x search:similarTo "w" ; search:top ?n', "search:top is 1 to 1,000"),
        ('?x search:similarTo "w" ; search:score 1', "search:score is bound to a variable"),
        ('?x search:similarTo "w" ; search:embedding k:e', "search:embedding is the name of an embedding"),
        ('?x search:similarTo "w" ; search:rerank true', "search:rerank is not served"),
        ('?x search:similarTo "w" ; search:nothing 1', "search:nothing is not served"),
    ],
)
def test_what_can_not_be_answered_is_refused_in_words(group: str, why: str) -> None:
    with pytest.raises(InvalidRequest, match=f"^query: .*{why}") as refused:
        similar_in(f"{LINES}SELECT ?x WHERE {{ {group} }}")
    assert refused.value.param == "query"


@pytest.mark.parametrize(
    "prologue",
    [
        "BASE <https://littlebigbrain.com/search> SELECT ?x { ?x <#similarTo> 'w' }",
        "BASE <https://littlebigbrain.com/> PREFIX other: <search#> SELECT ?x { ?x other:similarTo 'w' }",
        "PREFIX s: <urn:other:> PREFIX s: <https://littlebigbrain.com/search#> ASK { ?x s:similarTo 'w' }",
    ],
)
def test_its_name_is_known_however_it_is_written(prologue: str) -> None:
    similar = similar_in(prologue)
    assert similar is not None and similar.target == Target(words="w")


def test_inside_a_condition_it_is_refused_with_its_whole_iri_too() -> None:
    text = 'SELECT ?x { ?x a ?c FILTER(EXISTS { ?x <https://littlebigbrain.com/search#similarTo> "w" }) }'
    with pytest.raises(InvalidRequest, match="stand in the main group"):
        similar_in(checked(text, {}).text)


def test_a_very_long_text_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="takes a text of 1 to 8,000 characters"):
        found(f'ASK {{ ?x search:similarTo "{"w" * (MAX_WORDS + 1)}" }}')


@pytest.mark.parametrize(
    "query",
    ['SELECT ?x { ?x k:p "search:similarTo" } # search:similarTo', "SELECT ?x { ?x k:similarTo 1 }", "ASK {}", ""],
)
def test_a_query_that_does_not_search_is_left_alone(query: str) -> None:
    assert similar_in(LINES + query) is None


PIECES = st.sampled_from(
    [
        "?x",
        "?y",
        ".",
        ";",
        ",",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "search:similarTo",
        "search:score",
        "search:top",
        "'w'",
        '"v"',
        "3",
        "k:p",
        "<urn:a>",
        "a",
        "FILTER",
        "OPTIONAL",
        "UNION",
        "SELECT",
        "WHERE",
        "ASK",
        "PREFIX",
        "BASE",
        "ORDER",
        "LIMIT",
        "OFFSET",
        "#",
        "k:",
        "_:b",
        "^",
        "/",
        "*",
        "<<",
        ">>",
    ]
)


@given(pieces=st.lists(PIECES, max_size=40))
def test_any_text_is_read_or_refused(pieces: list[str]) -> None:
    try:
        similar_in(LINES + " ".join(pieces))
    except InvalidRequest as refused:
        assert refused.param == "query"


@given(
    triples=st.lists(
        st.sampled_from(["?x a k:S", "?x k:p 1 ; k:q k:o.", "?y k:of ?x", "[] k:r ?x", "?x k:s 'a.b'"]), max_size=4
    ),
    place=st.integers(0, 4),
)
def test_what_is_left_is_the_query_without_its_search(triples: list[str], place: int) -> None:
    search = "?x search:similarTo 'w' ; search:score ?n"
    stated = [*triples[:place], search, *triples[place:]]
    left = found(f"SELECT * {{ {' . '.join(one.rstrip('.') for one in stated)} }}")
    text = left.bound([Near("urn:a", 0.5)])
    ox.Store().query(text)
    assert "search:" not in text.removeprefix(LINES)
    assert all(one.rstrip(".") in text for one in triples)
