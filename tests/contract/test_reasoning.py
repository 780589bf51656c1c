"""Reasoning that models write before their answer, whole and split anywhere."""

from __future__ import annotations

import itertools

import pytest

from a2a_adapters import ReasoningFilter, without_reasoning

TEXTS = [
    ("<think>hm</think>yes it is", "yes it is"),
    ("\n <think>\nhm\n</think>\n\nyes it is\n", "yes it is\n"),
    ("<think></think>yes", "yes"),
    ("<think>a < b </thin </think>yes", "yes"),
    ("<think>hm</think>", ""),
    ("<think>hm</think>\n", ""),
    ("<think>never ends", ""),
    ("<think>never ends</thin", ""),
    ("yes <think>it</think> is", "yes <think>it</think> is"),
    ("<think>hm</think>yes <think>it</think> is", "yes <think>it</think> is"),
    ("<thinking>aloud", "<thinking>aloud"),
    ("<three>", "<three>"),
    ("<th", "<th"),
    ("<", "<"),
    ("  indented", "  indented"),
    ("</think>yes", "</think>yes"),
    (" \n", " \n"),
    ("", ""),
]


def filtered(*chunks):
    reasoning = ReasoningFilter()
    return "".join([*map(reasoning.add, chunks), reasoning.rest()])


@pytest.mark.parametrize(("text", "answer"), TEXTS)
def test_splitting_does_not_change_the_text(text, answer):
    assert without_reasoning(text) == answer
    assert filtered(*text) == answer
    for first, second in itertools.combinations(range(len(text) + 1), 2):
        assert filtered(text[:first], text[first:second], text[second:]) == answer


def test_no_answer_is_held_back():
    reasoning = ReasoningFilter()
    chunks = ["<think>", "hm", "</think>", "\n", "yes", " <", "b", ">"]
    assert [reasoning.add(chunk) for chunk in chunks] == ["", "", "", "", "yes", " <", "b", ">"]
    assert reasoning.rest() == ""


def test_plain_text_passes_at_once():
    reasoning = ReasoningFilter()
    assert [reasoning.add(chunk) for chunk in ("y", "es", " ")] == ["y", "es", " "]
