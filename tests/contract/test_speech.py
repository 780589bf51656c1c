"""Streamed messages as the text of one answer, without the reasoning before it."""

from __future__ import annotations

import itertools

import pytest

from a2a_adapters import TextDelta
from a2a_adapters.plugin import (
    AnswerText,
    CheckedSpeech,
    ReasoningFilter,
    Speech,
    without_reasoning,
)
from tests.support.adapters import answer


def test_text_is_streamed_and_messages_are_separated():
    speech = Speech()
    assert [speech.add("a", "one"), speech.add("a", " and"), speech.end("a")] == ["one", " and", ""]
    assert [speech.add("a", " "), speech.add("a", "two"), speech.rest()] == ["", "\n\n two", ""]


def test_white_space_alone_is_not_a_message():
    speech = Speech()
    assert [speech.end("a"), speech.end("a", " \n"), speech.add("b", ""), speech.rest()] == [""] * 4
    assert not speech
    assert speech.end("a", "one") == "one"
    assert speech


def test_reasoning_is_left_out_of_each_message():
    speech = Speech()
    assert [speech.add("a", "<think>hm"), speech.add("a", "</think>"), speech.add("a", "yes")] == [
        "", "", "yes",
    ]  # fmt: skip
    assert speech.end("a", "<think>hm</think>yes!") == "!"
    assert speech.end("b", "<think>hm</think>no") == "\n\nno"
    assert [speech.add("c", "<th"), speech.end("c")] == ["", "\n\n<th"]
    assert speech.has_said("<think>why</think> no ")
    assert not speech.has_said("n")


def test_one_speaker_has_the_floor_and_the_others_are_buffered():
    speech = Speech(labelled=True)
    assert speech.add("a", "I am") == "a: I am"
    assert speech.add("b", "And") == speech.add("c", "Well") == ""
    assert speech.is_speaking("a")
    assert not speech.is_speaking("b")
    assert speech.add("c", ".") == speech.end("c") == ""
    assert speech.end("d", "Whole.") == speech.add("a", "") == ""
    assert speech.add("a", " A.") == " A."
    assert speech.end("a") == "\n\nc: Well.\n\nd: Whole.\n\nb: And"
    assert speech.add("b", " me.") == " me."
    assert speech.rest() == ""
    assert all(map(speech.has_said, ["I am A.", "And me.", "Well.", "Whole."]))


def test_all_that_waits_is_sent_at_the_end():
    speech = Speech()
    added = [speech.add(name, name) for name in "abc"]
    assert [*added, speech.end("c"), speech.rest()] == ["a", "", "", "", "\n\nc\n\nb"]


def test_a_whole_message_completes_its_sent_chunks():
    speech = Speech()
    assert speech.add("a", "I think: ye") == "I think: ye"
    assert speech.end("a", "I think: yes.") == "s."
    assert [speech.add("a", "First this. Yes. "), speech.end("a", "Yes.")] == [
        "\n\nFirst this. Yes. ",
        "",
    ]
    assert [speech.add("a", "A draft"), speech.end("a", "Something else")] == [
        "\n\nA draft",
        "\n\nSomething else",
    ]
    assert [speech.add("a", "Same"), speech.add("b", "Sa"), speech.end("b", "Same")] == [
        "\n\nSame", "", "",
    ]  # fmt: skip
    assert speech.end("a", "Same") == "\n\nSame"


def test_a_text_may_be_restarted():
    speech = Speech()
    assert speech.end("a", "one") == "one"
    speech.begin_anew()
    assert [speech.end("a", "two"), speech.end("a", "three")] == ["two", "\n\nthree"]


def test_a_message_is_settled_with_the_text_that_holds():
    speech = Speech(labelled=True)
    assert [speech.add("a", "one "), speech.settle("a", "one two")] == ["a: one ", "two"]
    assert [speech.add("b", "half"), speech.settle("b", "whole")] == ["\n\nb: half", None]
    assert (speech.completed, speech.begun) == ("a: one two\n\nb: whole", "")
    speech.add("a", "withdrawn")
    speech.add("b", "waiting")
    assert speech.settle("c", "late") == ""
    assert speech.settle("a", "") is None
    assert speech.completed == "a: one two\n\nb: whole\n\nc: late"
    assert speech.begun == "\n\nb: waiting"
    assert speech.settle("b", "waiting!") == "!"
    speech.begin_anew()
    assert (speech.completed, speech.begun) == ("", "")


def spoken(speech):
    """Return the events of two messages, the second of which is replaced, and of an attempt."""
    events = [
        *speech.add("a", "<think>hm</think>One"),
        *speech.add("a", "."),
        *speech.accept("a", "One."),
    ]
    events += [*speech.add("a", "raw"), *speech.accept("a", "checked")]
    events += [*speech.add("a", "half an "), *speech.accept("a", "")]
    return [*events, *speech.add("a", "answer"), *speech.end()]


def test_a_checked_speech_corrects_what_was_streamed():
    speech = CheckedSpeech(holds=False)
    events = spoken(speech)
    assert speech
    assert events[:2] == [TextDelta("One"), TextDelta(".")]
    corrections = [event.text for event in events if isinstance(event, AnswerText)]
    assert corrections == ["One.\n\nchecked"] * 2
    assert answer(events) == "One.\n\nchecked\n\nanswer"


@pytest.mark.parametrize("streams", [True, False])
def test_a_checked_speech_releases_accepted_messages(streams):
    events = spoken(CheckedSpeech(holds=streams, streams=streams))
    accepted = [event.text for event in events if isinstance(event, AnswerText)]
    assert accepted == ["One.", *["One.\n\nchecked"] * 3]
    assert answer(events) == "One.\n\nchecked", "the last message was not accepted"
    assert any(isinstance(event, TextDelta) for event in events) == streams


def test_what_may_change_until_the_end_is_accepted_there():
    speech = CheckedSpeech(until_end=True)
    events = [*speech.add("a", "raw"), *speech.accept("a", "checked"), *speech.accept("b", "two")]
    events += [*speech.correct("b", "second"), *speech.withdraw("a"), *speech.accept("a", "third")]
    assert not [event for event in events if isinstance(event, AnswerText)]
    assert list(speech.end()) == [AnswerText("second\n\nthird")]


@pytest.mark.parametrize("until_end", [True, False])
def test_text_is_held_back_from_the_middle_on(until_end):
    speech = CheckedSpeech()
    events = [*speech.accept("a", "one"), *speech.add("a", "ra")]
    speech.hold(until_end=until_end)
    assert list(speech.add("a", "w")) == []
    accepted = [] if until_end else [AnswerText("one\n\ntwo")]
    assert list(speech.accept("a", "two")) == accepted
    assert answer([*events, *accepted, *speech.end()]) == "one\n\ntwo"


def test_messages_are_corrected_and_withdrawn_later():
    speech = CheckedSpeech()
    events = [*speech.accept("a", "one"), *speech.accept("b", "two"), *speech.accept("a", "thee")]
    assert answer([*events, *speech.correct("a", "three")]) == "one\n\ntwo\n\nthree"
    events = [*speech.add("b", "half"), *speech.add("a", "an")]
    assert list(speech.withdraw("a")) == [AnswerText("two"), TextDelta("\n\nhalf")]
    assert list(speech.withdraw("c")) == []
    assert list(speech.withdraw("b")) == [AnswerText("")]
    assert [*speech.add("a", "anew"), *speech.end()] == [TextDelta("anew")]


class Shout:
    """Withholds a message until it is complete."""

    def __init__(self):
        self.text = ""

    def add(self, chunk):
        self.text += chunk
        return ""

    def rest(self):
        return self.text.upper()


def test_a_custom_filter():
    speech = Speech(new_filter=Shout)
    assert [speech.add("a", "ye"), speech.add("a", "s"), speech.end("a")] == ["", "", "YES"]
    assert speech.end("a", "no") == "\n\nNO"


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
