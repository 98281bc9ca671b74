"""The gate: what is let through only reads, and every query that only reads is let through."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress

import pyoxigraph as ox
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from core.errors import InvalidRequest
from core.rdf.gate import MAX_QUERY, checked, without_prefixes
from core.rdf.vocabulary import WELL_KNOWN, base_of, prefixes_of
from tests.requirements import requirement

KNOWN = {**WELL_KNOWN, **prefixes_of(base_of("main"))}


def refused(text: str) -> str:
    """What the gate says of a query that it refuses."""
    with pytest.raises(InvalidRequest) as caught:
        checked(text, KNOWN)
    assert caught.value.param == "query"
    assert "\n" not in caught.value.message
    return caught.value.message


# Forms ----------------------------------------------------------------------------------------------------------------


@requirement("ask.reads-only")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }", "CONSTRUCT"),
        ("construct WHERE { ?s ?p ?o }", "CONSTRUCT"),
        ("DESCRIBE <urn:a>", "DESCRIBE"),
        ("INSERT DATA { <urn:a> <urn:b> <urn:c> }", "an update"),
        ("# SELECT\nDELETE WHERE { ?s ?p ?o }", "an update"),
        ("PREFIX a: <urn:a> LOAD <http://example.org/>", "an update"),
        ("WITH <urn:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "an update"),
        ("DROP ALL", "an update"),
        ("CLEAR DEFAULT", "an update"),
        ("", "begins with SELECT or ASK"),
        ("PREFIX a: <urn:a>", "begins with SELECT or ASK"),
        ("how many people are there?", "begins with SELECT or ASK"),
        ("{ SELECT * { ?s ?p ?o } }", "begins with SELECT or ASK"),
        ("'SELECT' * { ?s ?p ?o }", "begins with SELECT or ASK"),
    ],
)
def test_every_form_but_select_and_ask_is_refused_in_words(text: str, told: str) -> None:
    assert told in refused(text)


@pytest.mark.parametrize("text", ["select*{?s ?p ?o}", "SELECT DISTINCT ?s { ?s ?p ?o }", "# one\nSELECT\t*{}"])
def test_select_has_many_spellings(text: str) -> None:
    assert checked(text, KNOWN).form == "SELECT"


def test_ask_is_a_form() -> None:
    assert checked("BASE <urn:x:> PREFIX a: <urn:a> ask { a:b ?p ?o }", KNOWN).form == "ASK"


def test_a_query_has_at_most_so_many_characters() -> None:
    text = "SELECT * { ?s ?p ?o } #"
    assert checked(text + "x" * (MAX_QUERY - len(text)), KNOWN).form == "SELECT"
    assert "20,000 characters" in refused(text + "x" * (MAX_QUERY - len(text) + 1))


@pytest.mark.parametrize(
    "piece",
    [
        '"\\',
        '"""\\',
        "'''\\\"",
        '\\"""\n',
        "\\'''\n",
        "<a",
        "1",
        "a-",
        "a.",
        "1e",
        "@a-",
        "a:\\",
        "(<a",
        '\n"""\\"\n',
        "#\n",
        "{",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    text = f"SELECT * {{ {piece * (MAX_QUERY // len(piece))}"[:MAX_QUERY]
    began = time.process_time()
    with suppress(InvalidRequest):
        checked(text, KNOWN)
    assert time.process_time() - began < 1


def test_a_string_in_three_quotes_that_has_no_end_is_refused() -> None:
    """The engine may read an empty string and go on behind it."""
    hidden = 'SELECT * { VALUES ?x { """a" } SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }'
    for text in (hidden, hidden.replace('"', "'"), 'SELECT * { ?s ?p """a\\"""'):
        assert "has no end" in refused(text)


# What leads out of the graph ------------------------------------------------------------------------------------------


@requirement("ask.reads-only")
@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { SERVICE <http://127.0.0.1/> { ?s ?p ?o } }",
        "SELECT * { ?s ?p ?o . { OPTIONAL { sErViCe ?s { ?a ?b ?c } } } }",
        "SELECT * { ?s ?p ?o FILTER EXISTS { SERVICE SILENT <http://127.0.0.1/> { ?s ?p ?o } } }",
        "SELECT * { SERVICE #comment\n<http://127.0.0.1/> { ?s ?p ?o } }",
        "SELECT * { { SELECT * { SERVICE <http://127.0.0.1/> { ?s ?p ?o } } } }",
        # The engine wants no space behind a keyword.
        "SELECT * { SERVICESILENT<http://127.0.0.1/>{ ?s ?p ?o } }",
        "SELECT * { ?s ?p 1SERVICE<http://127.0.0.1/>{ ?s ?p ?o } }",
        "SELECT * { ?s ?p trueSERVICE<http://127.0.0.1/>{ ?s ?p ?o } }",
        "PREFIX ex: <http://127.0.0.1/> SELECT * { SERVICEex:a { ?s ?p ?o } }",
        "PREFIX ex: <urn:x> SELECT * { ?s ?p ex:.SERVICE<http://127.0.0.1/>{ ?a ?b ?c } }",
        "PREFIX : <http://127.0.0.1/> SELECT * { ?s ?p 'a'^^:.SERVICE:a{ ?a ?b ?c } }",
        "PREFIX SERVICE: <urn:x> PREFIX ex: <http://127.0.0.1/> SELECT * { SERVICEex:a{ ?s ?p ?o } }",
        "PREFIX SERVICESILENT: <http://127.0.0.1/> SELECT * { SERVICESILENT:a{ ?s ?p ?o } }",
    ],
)
def test_service_is_refused_wherever_it_stands(text: str) -> None:
    assert "SERVICE" in refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM <urn:g> { ?s ?p ?o }",
        "SELECT * FROM NAMED <urn:g> { GRAPH ?g { ?s ?p ?o } }",
        "SELECT*from<urn:g>{ ?s ?p ?o }",
        "SELECT ?s FROMNAMED<urn:g>{ ?s ?p ?o }",
        "PREFIX ex: <urn:x> SELECT (1 AS ?n) FROMex:g { ?s ?p ?o }",
        "ASK FROM <urn:g> { ?s ?p ?o }",
    ],
)
def test_from_is_refused(text: str) -> None:
    assert "FROM" in refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "PREFIX service: <urn:s:> SELECT ?service { ?service service:of service:a . ?from ?service ?b }",
        "PREFIX service: <urn:s:> SELECT * { GRAPH service:g { ?s ?p ?o } }",
        "PREFIX from: <urn:f:> SELECT (COUNT(?from) AS ?n) { ?from from:here ?o } # FROM here SERVICE",
        'SELECT * { ?s ?p "SERVICE <http://127.0.0.1/> { }" }',
        "SELECT * { ?s ?p '''FROM\n\"SERVICE''', 'CONSTRUCT' }",
        'SELECT * { ?s ?p "a\\"SERVICE" }',
        "SELECT * { ?s <urn:SERVICE> <http://example.org/service#SERVICE> }",
        "SELECT ?x { ?x a type:service ; rel:from ?y }",
    ],
)
def test_these_words_may_stand_in_names_strings_iris_and_comments(text: str) -> None:
    passed = checked(text, KNOWN)
    assert isinstance(ox.Store().query(passed.text), ox.QuerySolutions)


def test_what_the_engine_reads_as_a_comparison_hides_nothing() -> None:
    text = 'SELECT * { ?s ?p ?o FILTER(?o<?o#x>"""\n)SERVICE<http://127.0.0.1:1/>{ ?s ?p ?o }#"""\n}'
    with pytest.raises(SyntaxError):
        ox.Store().query(checked(text, KNOWN).text)


# Prefixes -------------------------------------------------------------------------------------------------------------


@requirement("ask.adds-prefixes")
def test_a_known_prefix_gets_its_line() -> None:
    passed = checked("SELECT ?n { ?x a type:person ; rdfs:label ?n }", KNOWN)
    assert passed.text == (
        "PREFIX type: <urn:gligabao:main:type/>\n"
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
        "SELECT ?n { ?x a type:person ; rdfs:label ?n }"
    )


def test_a_prefix_that_the_query_declares_stays_its_own() -> None:
    text = "PREFIX rdfs: <urn:mine:> SELECT ?n { ?x rdfs:label ?n }"
    assert checked(text, KNOWN).text == text


def test_a_prefix_that_nobody_knows_is_named() -> None:
    told = refused("SELECT * { ?s wdt:P31 wd:Q5 ; rdfs:label ?l }")
    assert "wdt:, wd:" in told
    assert "rdfs:," not in told.split(";")[0]


def test_prefix_lines_and_comments_are_no_part_of_what_a_person_reads() -> None:
    passed = checked("# people\nSELECT ?n # names\n{ ?x a type:person ;\n  rdfs:label ?n }", KNOWN)
    assert without_prefixes(passed.text) == "SELECT ?n { ?x a type:person ; rdfs:label ?n }"
    assert without_prefixes("no query") == "no query"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("SELECT * { ?f a gb:Fact }", True),
        ("PREFIX g: <urn:gligabao-terms:> SELECT * { ?f g:validAt ?t }", True),
        ("SELECT * { ?f <urn:gligabao-terms:artif\\u0061ct> ?t }", True),
        ("SELECT * { ?f rdf:reifies <<( ?s ?p ?o )>> }", True),
        ("SELECT * { << ?s ?p ?o >> ?q ?r }", True),
        ("SELECT * { ?s ?p ?o {| ?q ?r |} }", True),
        ("SELECT * { <urn:gligabao:main:edge/7> ?p ?o }", True),
        ("SELECT * { ?x gb:description ?d }", False),
        ("SELECT * { ?s ?p ?o FILTER(?o < 3 && ?o < 4) }", False),
        ('SELECT * { ?s ?p "gb:Fact" } # gb:Fact', False),
    ],
)
def test_the_gate_tells_whether_fact_nodes_are_asked_for(text: str, facts: bool) -> None:
    assert checked(text, KNOWN).facts == facts


# Whatever comes -------------------------------------------------------------------------------------------------------

GAP = st.sampled_from(["", "", " ", "\n", "#'\n", '#"""\r', "\t"])
RESOURCES = ["?s", "?o", "<urn:a>", "<urn:a#b>", "<x'y>", "ex:a", "ex:", "ex:a\\#b", "service:a", "SERVICE:a", "_:b"]
LITERALS = ["'a'", '"SERVICE"', "'it\\'s'", '"""a"b\n"""', "'a'@en", "1", "2.5", ".5", "1e3", "true"]
TERM = st.sampled_from([*RESOURCES, *LITERALS])
WORDS = ["SERVICE", "service", "SeRvIcE", "SERVICE SILENT", "SERVICESILENT", "FROM", "\\u0053ERVICE", "\u017fERVICE"]
PLACES = ["<http://127.0.0.1:PORT/>", "place:a", "SERVICE:a", "?s"]
SIGNS = [
    ".",
    ";",
    "{",
    "}",
    "(",
    ")",
    "<",
    ">",
    "'",
    '"',
    '"""',
    "'''",
    "#",
    "\n",
    "\\",
    "<<",
    ">>",
    "{|",
    "|}",
    "\x00",
    "\xe9",
]


def spaced(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """The parts, with a gap or none between them."""
    drawn = [part if isinstance(part, st.SearchStrategy) else st.just(part) for part in parts]
    return st.tuples(*[piece for part in drawn for piece in (part, GAP)]).map("".join)


EXPRESSION = spaced(TERM, st.sampled_from(["<", ">", "<=", "=", "&&", "+", "<?o#", "<ex:a#", "<?o='"]), TERM)
TRIPLE = spaced(TERM, st.sampled_from(["?p", "<urn:b>", "a", "ex:b/ex:c", "^ex:b*"]), TERM, st.sampled_from([".", ""]))


def elements(group: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A group of patterns, each of which may hold others."""
    some = st.one_of(
        TRIPLE,
        group,
        spaced("OPTIONAL", group),
        spaced("FILTER(", EXPRESSION, ")"),
        spaced("FILTER NOT EXISTS", group),
        spaced(group, "UNION", group),
        spaced("VALUES ?s{", TERM, "}"),
        spaced("GRAPH", TERM, group),
        spaced("{SELECT *", group, "}"),
        spaced(st.sampled_from(WORDS), st.sampled_from(PLACES), group),
    )
    return st.lists(some, max_size=3).flatmap(lambda parts: spaced("{", *parts, "}"))


GROUP = st.recursive(spaced("{", TRIPLE, "}"), elements, max_leaves=8)
HEAD = st.sampled_from(
    [
        "SELECT *",
        "select ?s",
        "SELECT (COUNT(*) AS ?n)",
        "SELECTDISTINCT ?s",
        "ASK",
        "SELECT * FROM <urn:g>",
        "SELECT*FROMex:g",
    ]
)
QUERY = spaced(HEAD, GROUP, st.sampled_from(["", "LIMIT 5", "ORDER BY ?s", "#"]))
DECLARED = (
    "PREFIX ex: <urn:ex:> PREFIX service: <urn:s:> PREFIX place: <http://127.0.0.1:PORT/> "
    "PREFIX SERVICE: <http://127.0.0.1:PORT/> PREFIX SERVICEplace: <urn:x:> PREFIX SERVICEex: <urn:x:>\n"
)


@st.composite
def broken(draw: st.DrawFn) -> str:
    """A query with pieces put in and cut out."""
    text = draw(QUERY)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.sampled_from([*SIGNS, *WORDS, ""])) + text[at + draw(st.integers(0, 2)) :]
    return text


@st.composite
def hidden(draw: st.DrawFn) -> str:
    """A comparison that looks like an IRI: what follows it may be a string for one reader and a query for another."""
    compared = draw(st.sampled_from(["0<?o#x>", "0<ex:a#>", "'a'<?p&&'>", "0<?o>", "?o<<ex:a#>"]))
    quote = draw(st.sampled_from(['"""', "'''", "'"]))
    call = draw(spaced(st.sampled_from(WORDS), st.sampled_from(PLACES), "{?s ?p ?o}"))
    end = draw(st.sampled_from(["\n)", "')", ")"]))
    return f"SELECT * {{?s ?p ?o FILTER({compared}{quote}{end}{call}#{quote}\n}}"


class Listener:
    """A server that nobody may call: it counts who does."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.calls = 0
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()

    def listen(self) -> None:
        with self.socket:
            while True:
                connection, _ = self.socket.accept()
                with connection:
                    if connection.recv(3) == b"end":
                        return
                    self.calls += 1

    def close(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"end")
        self.thread.join()


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with closing(Listener()) as listener:
        yield listener


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.one_of(broken().map(DECLARED.__add__), hidden().map(DECLARED.__add__), st.text()))
def test_whatever_is_let_through_is_read_as_a_query_that_stays_here(listener: Listener, text: str) -> None:
    try:
        passed = checked(text.replace("PORT", str(listener.port)), KNOWN)
    except InvalidRequest:
        return
    assert not isinstance(run_here(passed.text), ox.QueryTriples)
    assert listener.calls == 0


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(QUERY.map(DECLARED.__add__))
def test_every_query_without_these_words_is_let_through(text: str) -> None:
    assume("service" not in text.removeprefix(DECLARED).casefold() and "from" not in text.casefold())
    try:
        ox.Store().query(text)
    except (SyntaxError, ValueError, RuntimeError):
        return
    passed = checked(text, KNOWN)
    assert passed.form == ("ASK" if "ASK" in text else "SELECT")
    ox.Store().query(passed.text)


def run_here(text: str) -> object:
    """What the engine makes of it, its first rows read; None for what it can't read or evaluate."""
    store = ox.Store()
    store.add(ox.Quad(ox.NamedNode("urn:a"), ox.NamedNode("urn:b"), ox.Literal(1)))
    try:
        answer = store.query(text)
        if isinstance(answer, ox.QuerySolutions):
            for _ in zip(range(50), answer, strict=False):
                pass
    except (SyntaxError, ValueError, RuntimeError, OSError):
        return None
    return answer
