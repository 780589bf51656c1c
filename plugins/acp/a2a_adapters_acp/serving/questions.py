"""Asks the caller for the permissions that an agent requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from textwrap import indent
from typing import TYPE_CHECKING, Any

from acp.schema import FileEditToolCallContent, PermissionOption

from a2a_adapters import Data, InputRequired, Text
from a2a_adapters.plugin import as_decision
from a2a_adapters_acp.serving.diffs import patch_of
from a2a_adapters_acp.serving.paths import name_of, shown
from a2a_adapters_acp.serving.permissions import (
    command_of,
    fingerprint,
    kinds_of,
    option_for,
    paths_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from acp.schema import ToolCallUpdate

    from a2a_adapters import AgentRequest
    from a2a_adapters_acp.serving.client import Asked

_LABELS = {
    "allow_once": "yes",
    "allow_always": "always",
    "reject_once": "no",
    "reject_always": "never",
}
_QUESTION_PATCH = 16_000
_TITLE = 200
_STORED = "acp_permission"
_UNCLEAR = "That is not one of the answers."


class Question:
    """A request for permission, as a question to the caller.

    Args:
        asked: The request.
        folder: The working folder, resolved.

    Attributes:
        event: The question.
        reason: The caller's reason for a denial; "" if none was given.
    """

    def __init__(self, asked: Asked, folder: Path) -> None:
        self._asked = asked
        self.event = self._first = question(asked.call, asked.options, folder)
        self.reason = ""

    @property
    def is_open(self) -> bool:
        """Whether the agent is waiting for an answer."""
        return not self._asked.answer.done()

    def give(self, answer: AgentRequest) -> None:
        """Apply an answer; an unclear one changes `event`."""
        choice = read_answer(answer, self._asked.options)
        if choice is None:
            self.event = replace(self._first, prompt=f"{_UNCLEAR}\n{self._first.prompt}")
        elif self.is_open:
            option_id, self.reason = choice
            self._asked.answer.set_result(option_id)


def question(
    call: ToolCallUpdate, options: Sequence[PermissionOption], folder: Path
) -> InputRequired:
    """Return the question for the caller.

    The options have our own labels, because an agent's labels may be misleading. The question can
    be answered after a restart (see `read_stored_answer`).

    Args:
        call: The agent's tool call.
        options: The agent's options.
        folder: The working folder, resolved.
    """
    title = shown(" ".join((call.title or "use a tool").split()), folder, _TITLE)
    kinds = ", ".join(sorted(kinds_of(call)))
    offered = {option.kind for option in options}
    words = [word for kind, word in _LABELS.items() if kind in offered]
    command = shown(command_of(call), folder)
    lines = [f"{kinds}: {title}"]
    if command and command not in title:
        lines.append("$ " + command.replace("\n", "\n> "))  # not to pass for a line of ours
    paths = [name_of(path, folder) for path in paths_of(call)]
    lines += [f"Files: {', '.join(paths)}"] if paths else []
    about = {
        "kinds": sorted(kinds_of(call)),
        "title": title,
        "paths": paths,
        "command": command,
        "options": [
            {"id": option.option_id, "kind": option.kind, "answer": _LABELS[option.kind]}
            for option in options
        ],
    }
    patches = [
        Text(_bounded(patch), "text/x-diff")
        for each in call.content or ()
        if isinstance(each, FileEditToolCallContent) and (patch := patch_of(each, folder))
    ]
    kept = {
        "mark": fingerprint(call),
        "title": title,
        "options": [[option.option_id, option.kind] for option in options],
    }
    return InputRequired(
        _asked("\n".join(lines), words),
        [Data({"permission": about}), *patches],
        metadata={_STORED: kept},
        durable=True,
        waits=True,
    )


def repeated(request: AgentRequest) -> InputRequired:
    """Repeat an earlier process's question after an unclear answer."""
    kept: Any = request.resume_metadata[_STORED]
    prompt = f"{_UNCLEAR}\n{_asked(kept['title'], ['yes', 'no'])}"
    return InputRequired(prompt, metadata={_STORED: kept}, durable=True)


def _asked(about: str, words: Sequence[str]) -> str:
    """Return a question with the agent's words as a code block.

    Front ends that render Markdown would otherwise hide or restyle parts of a command.
    """
    answers = " or ".join(words)
    return f"The agent asks for permission:\n\n{indent(about, '    ')}\n\nAnswer {answers}."


def _bounded(patch: str) -> str:
    rest = len(patch) - _QUESTION_PATCH
    return patch if rest <= 0 else f"{patch[:_QUESTION_PATCH]}\n({rest} more characters)\n"


def read_stored_answer(request: AgentRequest) -> tuple[str, set[str]] | None:
    """Return the prompt for an agent whose process died while it waited for permission.

    Returns:
        The prompt, and the call's fingerprint if it is allowed; None if the answer is unclear.
    """
    kept: Any = request.resume_metadata[_STORED]
    options = [
        PermissionOption(option_id=option_id, kind=kind, name=kind)
        for option_id, kind in kept["options"]
    ]
    if (choice := read_answer(request, options)) is None:
        return None
    lost = "You were restarted while you waited for permission to use this tool"
    kinds = {option.option_id: option.kind for option in options}
    if kinds[choice[0]].startswith("allow"):
        text = f"{lost}: {kept['title']}\nPermission is granted. Use it and finish the task."
        return text, {kept["mark"]}
    reason = f" {choice[1]}" if choice[1] else ""
    return f"{lost}: {kept['title']}\nPermission is denied.{reason} Finish without it.", set()


def read_answer(
    answer: AgentRequest, options: Sequence[PermissionOption]
) -> tuple[str, str] | None:
    """Return the chosen option's id and the reason for a denial; None if the answer is unclear.

    Args:
        answer: Text such as `yes`, `always`, `no` or `no, because ...`, or data with an `option`.
        options: The agent's options.
    """
    for part in answer.parts:
        if isinstance(part, Data) and isinstance(part.value, Mapping) and "option" in part.value:
            known = {option.option_id for option in options}
            chosen = part.value["option"]
            return (chosen, "") if isinstance(chosen, str) and chosen in known else None
    word = answer.text.strip().lower().rstrip(".!")
    for option in options:
        if option.kind.endswith("_always") and word == _LABELS[option.kind]:
            return option.option_id, ""
    decision = as_decision(answer.text)
    if decision is None:
        return None
    chosen = option_for(options, is_allowed=decision[0])
    return None if chosen is None else (chosen, decision[1])
