"""Names, relations and strange characters: the pure part of who is who."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.extraction import RawEdge, RawEntity, only_named_in, read_extraction
from core.noise import is_noise
from core.secrets import mask
from core.text import clean, display_name, entity_type, fold, has_control, name_key, relation, utf8_length
from tests.requirements import requirement

TOLD = datetime(2026, 6, 10, 12, tzinfo=UTC)

ODD_TEXT = st.text(st.characters() | st.sampled_from("\x00\ud83d\udc4b"), max_size=6)
ANY_TEXT = st.text(st.characters(codec="utf-8"), max_size=40)


@given(ANY_TEXT)
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(ANY_TEXT)
def test_a_key_is_composed_trimmed_and_has_no_upper_case(text: str) -> None:
    key = name_key(text)
    assert key == unicodedata.normalize("NFC", key)
    assert key == " ".join(key.split())
    assert fold(key) == key


@given(ANY_TEXT.filter(lambda text: name_key(text)[:1] not in ("@", "#")))
def test_the_key_of_a_key_is_that_key(text: str) -> None:
    assert name_key(name_key(text)) == name_key(text)


@given(ANY_TEXT)
def test_however_an_accent_is_written_the_key_is_the_same(text: str) -> None:
    assert (
        name_key(unicodedata.normalize("NFD", text)) == name_key(unicodedata.normalize("NFC", text)) == name_key(text)
    )


@requirement("normalize.entity-identity")
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Alice  Smith", "alice smith"),  # white space collapsed
        ("Alice\u2028Smith", "Alice Smith"),  # line separator
        ("STRASSE", "straße"),  # folded, not only lowered
        ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("caf\u00e9", "cafe\u0301"),
        ("caf\u00e9", "cafe\u200b\u0301"),  # a zero-width mark between a letter and its accent
        ("@VeraKoss", "verakoss"),  # C005
        ("#release", "Release"),
        ("\u200fليلى\u200f", "ليلى"),  # C008
        ("\u202bNabta\u202c", "nabta"),
        ("\u2067Nabta\u2069", "nabta"),
        ("zero\u200bwidth", "zerowidth"),
        ("co\u00adoperate", "cooperate"),
    ],
)
def test_spellings_of_one_name_have_one_key(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("VX7103", "VX7105"),  # C004
        ("Model A", "Model B"),
        ("C", "C#"),
        ("张伟", "王芳"),  # C007
        ("Анна", "Anna"),
        ("🦊🦊", "🦊"),
        ("resume", "résumé"),
        ("Jon", "John"),
    ],
)
def test_names_that_differ_in_a_sign_have_two_keys(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)
    assert name_key(one) and name_key(other)


@pytest.mark.parametrize("nothing", ["", "  ", "\n\t", "@", "#", "\u200b\u200f", "@ \u200e"])
def test_a_name_of_nothing_has_an_empty_key(nothing: str) -> None:
    assert name_key(nothing) == ""


@requirement("normalize.entity-type", "normalize.relation")
def test_types_and_relations_are_lowercased() -> None:
    assert entity_type(" Legal  Person ") == "legal person"
    assert entity_type("") == entity_type(" \t") == "other"
    assert relation("Works At") == relation("works at") == "works_at"
    assert relation("  IS  Married to ") == "is_married_to"


@pytest.mark.parametrize(
    ("written", "shown"),
    [("`add_episode()`", "add_episode()"), ('"Nord"', "Nord"), ("«Nord»", "Nord"), ("“`core.py`”", "core.py")],
)
def test_quotes_and_backticks_around_a_name_are_not_part_of_it(written: str, shown: str) -> None:
    """C047."""
    assert display_name(written) == shown
    assert display_name(f"  {shown}\n") == shown


def test_quotes_inside_a_name_stay() -> None:
    assert display_name("O'Neil's \"Bar\" Ltd") == "O'Neil's \"Bar\" Ltd"
    assert display_name("'") == "'"


@given(
    ODD_TEXT | st.lists(ODD_TEXT, max_size=3) | st.dictionaries(ODD_TEXT, st.lists(ODD_TEXT, max_size=2), max_size=2)
)
def test_what_is_cleaned_can_be_stored_anywhere(value: object) -> None:
    cleaned, notes = clean(value)
    repr(cleaned).encode("utf-8")
    again, nothing_left = clean(cleaned)
    assert again == cleaned
    assert nothing_left == []
    assert bool(notes) == (cleaned != value)


def test_cleaning_says_what_it_did() -> None:
    """C044, C046."""
    assert clean({"text": "Lim\x00oges", "list": ["caf\ud83d"]}) == (
        {"text": "Limoges", "list": ["caf\ufffd"]},
        ["removed 1 NUL character", "replaced 1 lone surrogate"],
    )
    assert clean("\x00\x00")[1] == ["removed 2 NUL characters"]
    assert clean("👋 ok\n") == ("👋 ok\n", [])


def test_control_characters_and_bytes_are_counted_as_unicode_says() -> None:
    assert has_control("a\tb") and has_control("a\x7f") and has_control("\x85")
    assert not has_control("Zoë \u200f👋")
    assert utf8_length("é👋") == 6


@pytest.mark.parametrize(
    "noise",
    [
        "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAA" * 9000,
        "\n".join(["QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ejAxMjM0" for _ in range(40)]),
        "The logo:\r\n" + "\r\n".join(["c" * 64 for _ in range(30)]) + "\r\ncccc",
        "\ufffd\x01\x02PNG\x03\x04\x05" * 20,
    ],
    ids=["in one piece", "cut into lines", "mail", "binary"],
)
def test_encoded_files_and_binary_output_are_noise(noise: str) -> None:
    """C049."""
    assert is_noise(noise)


@pytest.mark.parametrize(
    "speech",
    [
        "",
        "Bo owns the garage.",
        "The key is " + "a" * 200,
        "张伟在海尔工作。" * 200,
        "See https://example.org/" + "path/" * 30 + " for the plan of the whole year.",
        "x = {'a': [1, 2]}\n" * 300,
        "| name | value |\n|------|-------|\n" * 100,
        ("-" * 80 + "\nNia prefers tabs, and says so in every single review that she writes for us.\n") * 40,
        "👨‍👩‍👧 at the zoo",
    ],
)
def test_language_code_and_long_links_are_no_noise(speech: str) -> None:
    assert not is_noise(speech)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "The staging key is sk-test-51H8ABCDEFGHIJKLMNOP and rotation is monthly.",
            "The staging key is [API key] and rotation is monthly.",
        ),
        ("Stripe: sk_live_51H8ABCDEFGHIJKL", "Stripe: [API key]"),
        ("The DB password is hunter2, says Bo.", "The DB password is [password], says Bo."),
        ("password for the staging db: swordfish", "password for the staging db: [password]"),
        ("The passphrase was 'open sesame'.", "The passphrase was '[password]'."),
        ("postgres://bo:s3cret@db.example/x", "postgres://bo:[password]@db.example/x"),
        ("api_key = 1a2b3c4d5e6f7a8b", "api_key = [secret]"),
        ("ghp_abcdefghijklmnopqrstuvwxyz01", "[token]"),
        ("Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer [token]"),
        ("password: sk-test-51H8ABCDEFGHIJKLMNOP", "password: [API key]"),
    ],
)
def test_a_secret_is_masked_and_its_kind_is_kept(text: str, kept: str) -> None:
    """C053."""
    assert mask(text) == (kept, 1)


@pytest.mark.parametrize(
    "mention",
    [
        "No API key in the build.",
        "The password is required at login.",
        "The password is well-known!",
        "Tokens rotate monthly; the token is stored in the vault of the platform team.",
        "Password policy is 12 characters.",
        "Ask Bo for the secret.",
    ],
)
def test_a_mention_of_a_secret_without_its_value_stays(mention: str) -> None:
    """C053."""
    assert mask(mention) == (mention, 0)


def test_names_that_the_text_does_not_hold_can_be_left_out() -> None:
    """C038."""
    read = read_extraction(
        [RawEntity("John Doe", "person"), RawEntity("user", "person"), RawEntity("Renée", "person")],
        [RawEdge("user", "Renée", "knows"), RawEdge("John Doe", "Renée", "knows")],
        reference_time=TOLD,
        model_id="m",
    )
    kept = only_named_in("I know RENE\u0301E.", read)
    assert [e.name for e in kept.entities] == ["user", "Renée"]
    assert [(e.source, e.target) for e in kept.edges] == [("user", "Renée")]
    assert kept.notes == ("left out 2 entities and facts with names that the text does not hold",)
    assert only_named_in("John Doe knows Renée, and so do I.", read) == read


def test_what_an_item_lacks_leaves_out_that_item_alone() -> None:
    """C031, C034: an empty name, or one that no index takes."""
    babble = "x" * 1001
    read = read_extraction(
        [RawEntity("  "), RawEntity("\u200b@"), RawEntity("Ivo", "Person"), RawEntity(babble), RawEntity("N", babble)],
        [
            RawEdge("Ivo", "Rome", "visited"),
            RawEdge("Ivo", "  ", "likes"),
            RawEdge("", "Rome", "likes"),
            RawEdge("Ivo", "Rome", ""),
            RawEdge("Ivo", babble, "likes"),
            RawEdge("Ivo", "Rome", babble),
        ],
        reference_time=TOLD,
        model_id="m",
    )
    assert [(e.name, e.type) for e in read.entities] == [("Ivo", "person")]
    assert [(e.source, e.relation, e.target) for e in read.edges] == [("Ivo", "visited", "Rome")]
    assert len(read.notes) == 9


def test_the_same_fact_twice_in_one_reading_is_one() -> None:
    """C032."""
    read = read_extraction(
        [RawEntity("Ivo", "person"), RawEntity("IVO", "Person", "a cook")],
        [
            RawEdge("Ivo", "Nord", "works_at", "Ivo works at Nord."),
            RawEdge("ivo", "NORD", "Works at", "He has a job there."),
            RawEdge("Ivo", "Nord", "works_at", valid_at="2019"),
        ],
        reference_time=TOLD,
        model_id="m",
    )
    assert [(e.name, e.description) for e in read.entities] == [("Ivo", "a cook")]
    assert [(e.description, e.valid_at.year) for e in read.edges] == [
        ("Ivo works at Nord.", 2026),
        ("", 2019),
    ]
