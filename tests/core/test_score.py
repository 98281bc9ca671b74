"""Terms and scores: the pure rule that every way of searching must agree with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.query.score import MAX_TERMS, STOPWORDS, names_whole, pieces, score, score_keys, terms
from core.text import fold, name_key
from tests.requirements import requirement

words = st.text(st.characters(codec="utf-8"), max_size=30)


def terms_of(question: str) -> tuple[str, ...]:
    return terms(name_key(question))


def whole(question: str, name: str) -> bool:
    return names_whole(name_key(question), name_key(name))


# Terms


@requirement("query.terms-split", "query.terms-dropped")
@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("Where does Alice work?", ("alice", "work")),
        ("ALICE alice Alice", ("alice",)),
        ("Is the The a an of?", ()),
        ("What do you know?", ()),
        ("x yy z", ("yy",)),
        ("post-merge", ("post", "merge")),
        ("team:sync NOT hook AND OR", ("team", "sync", "hook")),
        ("rm -rf ./build", ("rm", "rf", "build")),
        ("my_table.my_column", ("my_table", "my_column")),
        ("O'Brien; DROP TABLE gb_edges;--", ("brien", "drop", "table", "gb_edges")),
        ("100% of 50%", ("100", "50")),
        ("Wo wohnt Jürgen Groß?", ("wo", "wohnt", "jürgen", "gross")),
        ("Ju\u0308rgen", ("jürgen",)),
        ("  \t\n ", ()),
        ("?!", ()),
    ],
)
def test_a_question_is_split_into_terms(question: str, found: tuple[str, ...]) -> None:
    assert terms_of(question) == found


@requirement("query.terms-dropped")
@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("What's Alice's job?", ("alice", "job")),
        ("Don't they’re I'll we've she'd isn't can't won’t", ()),
        ("Jeanne d'Arc", ("jeanne", "arc")),
        ("rock'n'roll", ("rock", "roll")),
    ],
)
def test_a_contraction_leaves_no_scrap_behind(question: str, found: tuple[str, ...]) -> None:
    assert terms_of(question) == found


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("盤點", "倉庫盤點之前必須先關門"),
        ("關門", "倉庫盤點之前必須先關門"),
        ("将棋大会", "昨日は友達と将棋大会に出た"),
        ("도서관", "어제도서관에서책을빌렸다"),
        ("ห้องสมุด", "เขาอยู่ที่ห้องสมุดทุกวัน"),
        ("佐々木", "佐々木健"),
        ("𠮷野家", "駅前の𠮷野家"),
        ("हिन्दी", "वह हिन्दी पढ़ाती है"),
        ("தமிழ்", "அவள் தமிழ் பேசுகிறாள்"),
    ],
)
def test_every_term_of_a_part_is_in_the_whole_text(question: str, text: str) -> None:
    assert terms_of(question)
    assert all(term in fold(text) for term in terms_of(question))


def test_a_run_without_spaces_is_cut_into_overlapping_pairs() -> None:
    assert terms_of("将棋大会") == ("将棋", "棋大", "大会")
    assert terms_of("Python大会2026 猫") == ("python", "大会", "2026")


def test_letters_with_marks_stay_one_word() -> None:
    assert terms_of("हिन्दी क्या है") == ("हिन्दी", "क्या", "है")


@requirement("query.terms-at-most-12")
def test_the_first_twelve_terms_are_kept() -> None:
    many = [f"word{i}" for i in range(20)]
    assert terms_of(" the ".join([*many, *many])) == tuple(many[:12])
    assert len(terms_of("倉庫盤點之前必須先關門" + "昨日は友達と将棋大会に出た")) == MAX_TERMS


@given(words)
def test_terms_are_few_long_enough_and_in_the_question(question: str) -> None:
    key = name_key(question)
    found = terms(key)
    assert len(found) <= MAX_TERMS
    assert len(set(found)) == len(found)
    assert all(len(term) >= 2 and term not in STOPWORDS and term in key for term in found)


@given(words)
def test_a_term_holds_no_sign_that_a_pattern_could_mean(question: str) -> None:
    assert not set("".join(terms(name_key(question)))) & set("%*?[]\\\"'`;:-^$.()")


# Whole names


@requirement("query.score-whole-name")
@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Where is New York?", "New York"),
        ("where is NEW\u00a0 york", "New York"),
        ("Who writes C++?", "C++"),
        ("C#", "C#"),
        ("Is C++, C# or R better?", "R"),
        ("R", "R"),
        ("Go!", "Go"),
        ("the the", "The The"),
        ("What does the post-merge hook run?", "post-merge"),
        ("run team:sync now", "team:sync"),
        ("Ask O'Brien", "O'Brien"),
        ("O'Brien; DROP TABLE gb_edges;--", "O'Brien; DROP TABLE gb_edges;--"),
        ("What is Alice's job?", "Alice"),
        ("What is said in #general?", "#general"),
        ("Ask @alice", "@Alice"),
        ("@alice", "alice"),
        ("50% off", "50%"),
        ("東京大学はどこ", "東京"),
        ("東京+大阪", "東京"),
        ("猫が好き", "猫"),
        ("राम कहाँ है?", "राम"),
        ("JÜRGEN", "Ju\u0308rgen"),
        ("(Acme)", "Acme"),
        ("Anna and Ann", "Ann"),
    ],
)
def test_a_whole_name_is_found_as_words_of_its_own(question: str, name: str) -> None:
    assert whole(question, name)
    assert score(question, name, "") >= 5


@requirement("query.score-whole-name")
@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Where is Anna?", "Ann"),
        ("Where is Joanna?", "Anna"),
        ("Who writes C++?", "C"),
        ("Who writes C#?", "C"),
        ("What about Rust?", "R"),
        ("What about my_r?", "R"),
        ("R2", "R"),
        ("Where is New  Jersey?", "New York"),
        ("Is it York New?", "New York"),
        ("What about A100?", "A10"),
        ("रामायण क्या है?", "राम"),
        ("", "Ann"),
        ("Ann", "\u200b"),
        ("Where is Alice?", ""),
    ],
)
def test_a_part_of_a_word_is_no_whole_name(question: str, name: str) -> None:
    assert not whole(question, name)


@given(words, words, words)
def test_a_name_between_spaces_is_always_whole(before: str, name: str, after: str) -> None:
    key = fold(name)
    if key:
        assert names_whole(f"{fold(before)} {key} {fold(after)}", key)


@given(words, words)
def test_a_whole_name_stands_in_the_question(question: str, name: str) -> None:
    key, name = name_key(question), name_key(name)
    assert not names_whole(key, name) or (name and name in key)


@given(words, st.integers(0, 30), st.integers(0, 30))
def test_the_pieces_of_a_question_are_the_names_that_it_holds_whole(question: str, start: int, end: int) -> None:
    key = fold(question)
    found = pieces(key, 10_000)
    assert found is not None
    assert all(names_whole(key, piece) for piece in found)
    part = key[start:end].strip()
    assert (part in found) == names_whole(key, part)


def test_a_question_of_too_many_pieces_is_not_cut() -> None:
    assert pieces("who is ann?", 10) == {
        "who",
        "who is",
        "who is ann",
        "who is ann?",
        "is",
        "is ann",
        "is ann?",
        "ann",
        "ann?",
    }
    assert pieces("倉庫盤點之前必須先關門", 30) is None
    assert pieces("", 10) == set()


# Scores


@requirement("query.score-terms", "query.score-whole-name")
@pytest.mark.parametrize(
    ("points", "name", "description"),
    [
        (5 + 3, "Alice", ""),
        (5 + 3 + 1, "Alice", "at work since 2020"),
        (3, "Alice Smith", ""),
        (1, "Bob", "knows Alice"),
        (2, "Bob", "Alice works here"),
        (3 + 3, "Alice's workshop", ""),
        (3, "Malice", ""),
        (0, "Bob", "a baker"),
        (0, "Bob", ""),
    ],
)
def test_names_count_more_than_descriptions(points: int, name: str, description: str) -> None:
    assert score("Where does Alice work?", name, description) == points


def test_a_term_counts_once_however_often_it_occurs() -> None:
    assert score("alice alice", "Bob", "alice alice alice") == 1
    assert score("new york", "New York", "new in New York") == 5 + 2 * 3 + 2 * 1


def test_a_name_of_stopwords_or_of_one_letter_scores_by_the_whole_name_alone() -> None:
    assert score("the the", "The The", "a band") == 5
    assert score("R", "R", "a language") == 5
    assert score("is it?", "The The", "a band") == 0


@given(words, words, words)
def test_a_score_is_never_negative_and_has_a_ceiling(question: str, name: str, description: str) -> None:
    assert 0 <= score(question, name, description) <= 5 + 4 * MAX_TERMS


@given(words, words, words)
def test_case_and_white_space_of_a_question_change_nothing(question: str, name: str, description: str) -> None:
    spaced = f"  {' '.join(question.split())}\n"
    assert score(spaced, name, description) == score(question, name, description)
    assert score(question.casefold(), name, description) == score(question, name, description)


@given(st.lists(words, max_size=4), words, words)
def test_more_words_never_score_less_up_to_the_twelfth(several: list[str], name: str, description: str) -> None:
    key, text = name_key(name), fold(description)
    found = terms(fold(" ".join(several)))
    points = [score_keys("", found[:count], key, text) for count in range(len(found) + 1)]
    assert points == sorted(points)
