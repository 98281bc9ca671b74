"""Which words of a question are names, and of which records."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.names.index import NameIndex
from core.names.kinds import Kind, kind_of
from core.names.link import LONGEST, link
from core.names.words import composed, name_words
from tests.names.people import index
from tests.requirements import requirement

NAMES = (
    ("Quellmann Fenstertechnik GmbH", "Company"),
    ("Technische Universität Dresden", "University"),
    ("Jürgen Weiß", "Person"),
    ("payments team", "Team"),
    ("risk-service", "Service"),
    ("CRM Bridge", "Product"),
    ("Q3 planning", "Note"),
    ("Call notes Harbour", "Note"),
    ("Nestlé S.A.", "Company"),
    ("AT&T Inc.", "Company"),
    ("University of California, Los Angeles", "University"),
    ("Compare", "Product"),
    ("Bank of Ireland", "Company"),
)
(QUELLMANN, DRESDEN, WEISS, PAYMENTS, RISK, BRIDGE, PLANNING, CALL, NESTLE, ATT, UCLA, COMPARE, BANK) = map(
    str, range(13)
)


@pytest.fixture(scope="module")
def known() -> NameIndex:
    return index(*NAMES)


def linked(text: str, known: NameIndex, *, phrase: bool = False) -> list[tuple[str, str, str]]:
    """The words, the first record and how it was found, of each name of a text."""
    return [(one.text, one.hits[0].name.iri, one.hits[0].by) for one in link(text, known, phrase=phrase)]


@requirement("names.ignored-differences")
@pytest.mark.parametrize(
    ("text", "words", "record"),
    [
        ("Who works for QUELLMANN FENSTERTECHNIK?", "QUELLMANN FENSTERTECHNIK", QUELLMANN),
        ("Who works for Quellmann Fenstertechnik GmbH?", "Quellmann Fenstertechnik GmbH", QUELLMANN),
        ("Was macht Jurgen Weiss?", "Jurgen Weiss", WEISS),
        ("Was macht Juergen Weiss?", "Juergen Weiss", WEISS),
        ("Show the deals of Jürgen Weiß's team", "Jürgen Weiß", WEISS),
        ("what does the Payments-Team run", "Payments-Team", PAYMENTS),
        ("who runs the risk service?", "risk service", RISK),
        ("What did Nestle earn?", "Nestle", NESTLE),
        ("Is Nestlé SA a client?", "Nestlé SA", NESTLE),
        ("How is AT&T doing?", "AT&T", ATT),
    ],
)
def test_case_accents_punctuation_and_legal_forms_make_no_difference(
    text: str, words: str, record: str, known: NameIndex
) -> None:
    assert linked(text, known) == [(words, record, "exact")]


@requirement("names.ignored-differences")
@pytest.mark.parametrize("name", ["Jürgen Weiß", "Việt Nam", "가나다", "ガンダム", "Андрей"])
def test_a_name_is_one_name_with_its_accents_apart(name: str) -> None:
    apart = unicodedata.normalize("NFD", name)
    assert apart != name
    for known, asked in ((name, apart), (apart, name)):
        assert linked(f"Who is {asked}?", index((known, "Person"))) == [(name, "0", "exact")]


@requirement("names.ignored-differences")
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Who uses Node.js?", "Node.js"),
        ("Who visited Example.com today?", "example.com"),
        ("What is ＡＣＭＥ?", "ACME"),
        ("Where is ISTANBUL?", "İstanbul"),
        ("Who is isil isik?", "Işıl Işık"),
    ],
)
def test_names_with_a_point_inside_and_letters_of_other_kinds(text: str, name: str) -> None:
    assert [(iri, by) for _, iri, by in linked(text, index((name, "Product")))] == [("0", "exact")]


@pytest.mark.parametrize(
    ("text", "first"),
    [("Who writes C#?", "C#"), ("Who writes C?", "C"), ("Who is Müller?", "Müller"), ("Who is Muller?", "Muller")],
)
def test_of_names_that_differ_in_marks_alone_the_one_that_is_written_so_comes_first(text: str, first: str) -> None:
    [one] = link(text, index(*((name, "Person") for name in ("C", "C++", "C#", "Muller", "Müller"))))
    assert one.hits[0].name.label == first
    assert len(one.hits) > 1


@pytest.mark.parametrize("text", ["Who works in Building 8?", "who leads apollo 14?", "What is in Building 7a?"])
def test_a_name_of_another_number_is_another(text: str) -> None:
    known = index(("Building 7", "Team"), ("Building 12", "Team"), ("Apollo 13", "Team"))
    assert linked(text, known) == []


def test_a_number_that_is_in_no_name_keeps_none_away() -> None:
    known = index(("Berlin Marathon", "Company"), ("Building 7", "Place"))
    assert linked("Who ran in Berlin 2024?", known) == [("Berlin", "0", "partial")]
    assert linked("Who works in Building 7?", known) == [("Building 7", "1", "exact")]


@requirement("names.fuzzy")
@pytest.mark.parametrize(
    ("text", "words", "record"),
    [
        ("What did Quelmann deliver?", "Quelmann", QUELLMANN),
        ("What did Quelmann Fenstertechnick deliver?", "Quelmann Fenstertechnick", QUELLMANN),
        ("Where is Jurgne Weiss?", "Jurgne Weiss", WEISS),
        ("which services do the payment teams run", "payment teams", PAYMENTS),
    ],
)
def test_one_or_two_letters_may_be_others(text: str, words: str, record: str, known: NameIndex) -> None:
    assert linked(text, known) == [(words, record, "fuzzy")]


def test_three_letters_are_another_name(known: NameIndex) -> None:
    assert linked("What did Kwelmanz deliver?", known) == []


@requirement("names.acronym")
@pytest.mark.parametrize(
    ("text", "record"), [("Who studied at TU Dresden?", DRESDEN), ("Is UC Los Angeles a client?", UCLA)]
)
def test_an_acronym_inside_a_longer_name_stands_for_its_words(text: str, record: str, known: NameIndex) -> None:
    [(_, iri, by)] = linked(text, known)
    assert (iri, by) == (record, "acronym")


def test_words_that_are_part_of_a_name_find_it(known: NameIndex) -> None:
    assert linked("What does Fenstertechnik offer?", known) == [("Fenstertechnik", QUELLMANN, "partial")]
    assert linked("what does quellmann offer?", known) == [("quellmann", QUELLMANN, "partial")]
    assert linked("Is Weiß, Jürgen a client?", known)[0] == ("Weiß", WEISS, "partial")


@requirement("names.asking-words")
@pytest.mark.parametrize(
    "text",
    ["Summarize the week", "Compare the weeks", "Please compare the weeks", "Describe it", "Vergleiche die Wochen"],
)
def test_the_verb_that_asks_is_no_name_even_of_a_record_called_so(text: str) -> None:
    assert link(text, index(("Compare", "Product"), ("Describe AG", "Company"), ("Summarize", "Product"))) == []


def test_a_record_with_the_name_of_a_verb_is_found_elsewhere(known: NameIndex) -> None:
    assert linked("What does Compare cost?", known) == [("Compare", COMPARE, "exact")]


@requirement("names.sentence-capital")
@pytest.mark.parametrize(
    "text",
    ["Call notes of last week?", "Who called? Call notes are missing.", "Harbour fees?", "Harbour fees of last week"],
)
def test_a_capital_that_only_starts_a_sentence_makes_no_name(text: str, known: NameIndex) -> None:
    assert linked(text, known) == []


def test_a_name_that_starts_a_sentence_is_one(known: NameIndex) -> None:
    assert linked("Quellmann delivers what?", known) == [("Quellmann", QUELLMANN, "partial")]
    assert linked("Jürgen Weiß called. Why?", known) == [("Jürgen Weiß", WEISS, "exact")]
    assert linked("Who called? Quelmann did.", known) == [("Quelmann", QUELLMANN, "fuzzy")]


def test_an_abbreviation_ends_no_sentence() -> None:
    known = index(("St. Gallen Versicherung", "Company"), ("J. R. Weiß", "Person"))
    assert linked("Who works for the St. Gallen Versicherung?", known)[0][1:] == ("0", "exact")
    assert linked("Who knows J. R. Weiß?", known)[0][1:] == ("1", "exact")


def test_a_long_title_is_found_whole() -> None:
    title = "On the early history of the small fishing towns of the north coast"
    assert linked(f"Who wrote {title}?", index((title, "Book"))) == [(title, "0", "exact")]


@requirement("names.exact-only")
@pytest.mark.parametrize("text", ["What is the CRM for?", "what is the crm for?", "What was sold in Q3?", "Q3"])
def test_acronyms_codes_and_short_words_are_no_part_of_a_name(text: str, known: NameIndex) -> None:
    assert linked(text, known) == []


@requirement("names.exact-only")
@pytest.mark.parametrize("text", ["What is the CRM for?", "what is the crm for?"])
def test_unless_a_record_is_named_exactly_so(text: str) -> None:
    assert linked(text, index(("CRM", "Product"), ("CRM Bridge", "Product")))[0][1:] == ("0", "exact")


@requirement("names.common-words")
def test_a_word_that_many_names_hold_names_none_of_them() -> None:
    universities = [(f"Hochschule {name} Dresden", "University") for name in "ABCDEFG"]
    known = index(*universities, ("Dresden Frankfurt Bank", "Bank"))
    assert linked("Who lives in Dresden?", known) == []
    assert linked("Who works for Dresden Frankfurt?", known) == [("Dresden Frankfurt", "7", "partial")]


@requirement("names.people-first")
def test_people_and_organizations_come_first_and_what_is_written_last() -> None:
    classes = ("ContactNote", "Message", "Project", "Contact", "Organization", "SourceDocument")
    [one] = link("Where is Mara Lindqvist?", index(*(("Mara Lindqvist", name) for name in classes)))
    assert [hit.name.class_ for hit in one.hits[:3]] == ["Contact", "Organization", "Project"]
    assert {hit.name.class_ for hit in one.hits[3:]} == {"ContactNote", "Message", "SourceDocument"}


@requirement("names.people-first")
@pytest.mark.parametrize(
    ("class_", "kind"),
    [
        *((name, Kind.ACTOR) for name in ("person", "company", "team", "family", "scientist", "software_engineer")),
        *((name, Kind.OTHER) for name in ("event", "place", "product", "other", "concept")),
        *((name, Kind.WRITTEN) for name in ("document", "email", "message", "meeting_notes")),
    ],
)
def test_the_types_of_what_was_told_are_people_organizations_texts_or_others(class_: str, kind: Kind) -> None:
    assert kind_of(f"urn:gligabao:main:type/{class_}", {}) == kind


def test_longer_names_win_and_every_name_comes_once_in_the_order_of_the_text(known: NameIndex) -> None:
    text = "Does Bank of Ireland pay TU Dresden, and who at Bank of Ireland knows Jürgen Weiß?"
    assert [words for words, _, _ in linked(text, known)] == ["Bank of Ireland", "TU Dresden", "Jürgen Weiß"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("張偉在哪裡工作？", "張偉"),
        ("阿里巴巴的总部在哪里？", "阿里巴巴"),
        ("トヨタの車は？", "トヨタ"),
        ("김민수는 어디서 일해?", "김민수"),
        ("Где находится Ромашка?", "Ромашка"),
        ("أين يعمل محمد علي؟", "محمد علي"),
        ("राम कुमार कहाँ है?", "राम कुमार"),
        ("Πού είναι η Άννα;", "Άννα"),
    ],
)
def test_names_in_every_script(text: str, words: str) -> None:
    names = ["張偉", "阿里巴巴集团", "株式会社トヨタ", "김민수", "Άννα"]
    known = index(*((name, "Person") for name in (*names, "ООО Ромашка", "محمد علي", "राम कुमार")))
    assert [found for found, _, _ in linked(text, known)] == [words]


def test_lines_of_names_are_names(known: NameIndex) -> None:
    found = linked("Quellmann\nTU Dresden\nrisk service; Nestle", known)
    assert [iri for _, iri, _ in found] == [QUELLMANN, DRESDEN, RISK, NESTLE]


def test_a_name_by_itself_may_hold_any_mark() -> None:
    assert linked("Berg, Anna (Oslo)", index(("Berg, Anna (Oslo)", "Person"))) == [("Berg, Anna (Oslo", "0", "exact")]


def test_a_phrase_is_a_name_however_it_is_written(known: NameIndex) -> None:
    assert linked("crm", known, phrase=True) == [("crm", BRIDGE, "partial")]
    assert linked("call", known, phrase=True) == [("call", CALL, "partial")]


@pytest.mark.parametrize("text", ["", "?", "...", "\n\n", "GmbH", "the of and", "🙂", "'", "S.A.", "\u0301"])
def test_texts_without_names_have_none(text: str, known: NameIndex) -> None:
    assert linked(text, known) == []


def test_a_record_that_is_gone_is_not_found_and_one_renamed_by_its_new_name() -> None:
    known = index(("Jürgen Weiß", "Person"), ("Mara Lindqvist", "Person"))
    known.remove("0")
    assert linked("Where is Jürgen Weiß?", known) == []
    assert linked("Where is Mara Lindqvist?", known) == [("Mara Lindqvist", "1", "exact")]
    assert len(known) == 1


@given(st.text(max_size=60))
def test_any_text_can_be_asked_and_any_name_is_found_by_itself(text: str) -> None:
    known = index((text, "Person"), ("Jürgen Weiß", "Person"))
    assert all(one.text in composed(text) for one in link(text, known))
    one_line = len([line for line in re.split(r"[\n;]+", text) if line.strip()]) == 1
    if len(known) == 2 and one_line and len(name_words(text)) <= LONGEST:
        found = [hit.name.iri for one in link(text, known, phrase=True) for hit in one.hits]
        assert "0" in found or not text.strip()


@given(st.lists(st.sampled_from(["Anna Berg", "Anna", "Berg AG", "Harbour", "Ana Bergh"]), max_size=6), st.data())
def test_what_was_taken_out_is_found_no_more_and_the_rest_still_is(names: list[str], data: st.DataObject) -> None:
    known = index(*((name, "Person") for name in names))
    gone = {str(number) for number in range(len(names)) if data.draw(st.booleans())}
    for iri in gone:
        known.remove(iri)
    left = {str(number) for number in range(len(names))} - gone
    assert len(known) == len(left)
    for number, name in enumerate(names):
        found = {hit.name.iri for one in link(name, known, phrase=True) for hit in one.hits}
        assert not found & gone
        assert str(number) in found or str(number) in gone
