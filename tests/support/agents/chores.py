"""An agent that calls two tools in turn, `first` and `second`, and writes down what it does."""

from __future__ import annotations


def note(work, name, text):
    """Append a line to a file of the test's folder."""
    with (work / name).open("a") as file:
        file.write(f"{text}\n")


def turns(support, work):
    """Return the answers of the model for a framework's `Fake`; it notes each of its calls."""
    by_result = {
        "": support.calling("first", "1"),
        "1": support.calling("second", "2"),
        "2": "Done.",
    }

    def answer(messages):
        last = max(support.results(messages), default="")
        note(work, "turns", last or "0")
        return by_result[last]

    return answer
