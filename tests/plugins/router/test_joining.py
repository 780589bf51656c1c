"""An interrupted answer and its continuation by another deployment form one text."""

from __future__ import annotations

from a2a_adapters_router.joining import Joiner
from hypothesis import example, given
from hypothesis import strategies as st

TEXT = "Once upon a time there was a fox. The fox was quick, and the dog was lazy."


def joined(said, *answer):
    joiner = Joiner(said)
    return said + "".join(joiner.add(piece) for piece in answer) + joiner.end()


def pieces(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


@given(st.integers(0, len(TEXT)), st.integers(1, 20))
def test_a_repeated_answer_adds_only_new_text(cut, size):
    assert joined(TEXT[:cut], *pieces(TEXT, size)) == TEXT


@given(st.integers(0, len(TEXT)), st.integers(1, 20))
def test_a_continuation_is_added_completely(cut, size):
    assert joined(TEXT[:cut], *pieces(TEXT[cut:], size)) == TEXT


@given(st.integers(30, len(TEXT)), st.integers(12, 30), st.integers(1, 20))
def test_an_answer_that_repeats_the_end_adds_only_new_text(cut, overlap, size):
    assert joined(TEXT[:cut], *pieces(TEXT[cut - overlap :], size)) == TEXT


@given(st.text("ab", max_size=9), st.text("ab", max_size=9), st.integers(1, 4))
@example("abab", "ab", 1)
def test_short_words_repeated_by_chance_are_kept(said, rest, size):
    result = joined(said, *pieces(rest, size))
    is_restart = rest.startswith(said)
    assert result == (said + rest if not is_restart else max(said, rest, key=len))
