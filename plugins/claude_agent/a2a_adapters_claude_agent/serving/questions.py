"""Asks the caller about tools of the agent and its questions, and stores the run meanwhile.

A permission is given with yes, or always for the rest of the answer, and refused with no and a
reason. The agent's own questions, of the tool `AskUserQuestion`, are answered by text in turn, or
by a data part that maps the questions' texts to answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from textwrap import indent
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a_adapters import Data, InputRequired, InvalidInputError
from a2a_adapters.conversing import StoredTurn, TurnKind, numbered, replies
from a2a_adapters.plugin import JSON, as_decision, as_json

if TYPE_CHECKING:
    from a2a_adapters import Part
    from a2a_adapters_claude_agent.serving.session import Transcripts

ASKING_TOOL = "AskUserQuestion"
_PERMISSION = "permission"
_ALWAYS = "always"
_UNCLEAR = "That is not one of the answers."
_EMPTY = "That answers nothing."
_RESTARTED = "You were restarted while you waited for "

_LENGTH = 16_000


@dataclass(frozen=True, slots=True)
class Paused:
    """A run that waits for its caller.

    Attributes:
        task_id: The task that waits.
        session: The transcripts up to the current point of the run.
        tool: The tool that the agent wants to use.
        given: The arguments of the tool.
        folder: The working folder, which is not shown.
        offers_always: Whether the permission can be given for similar calls, too.
        answers: The answers so far; for a permission, `yes`, `always`, or `no` with the reason.
    """

    task_id: str
    session: Mapping[str, list[Any]]
    tool: str
    given: Mapping[str, Any]
    folder: str
    offers_always: bool = False
    answers: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def asked(self) -> list[str]:
        """The ids of all questions."""
        return list(_questions(self.given)) if self.tool == ASKING_TOOL else [_PERMISSION]

    @property
    def waiting(self) -> list[str]:
        """The questions without an answer."""
        return [each for each in self.asked if each not in self.answers]

    @property
    def is_allowed(self) -> bool:
        """Whether the tool may run; the agent's own questions always may."""
        return self.tool == ASKING_TOOL or self.answers[_PERMISSION] in ("yes", _ALWAYS)

    @property
    def is_always(self) -> bool:
        """Whether similar calls may run, too."""
        return self.answers.get(_PERMISSION) == _ALWAYS

    @property
    def reason(self) -> str:
        """The caller's words about a tool that may not run."""
        return str(self.answers[_PERMISSION]).removeprefix("no").strip()

    def prompt(self) -> str:
        """Return the message that continues the session in another process of Claude Code."""
        if self.tool == ASKING_TOOL:
            lines = [f"{each}\n{self.answers[each]}" for each in self.asked]
            return f"{_RESTARTED}the answers of the user:\n\n" + "\n\n".join(lines)
        call = f"{_RESTARTED}permission to use this tool: {called(self.tool, self.given)}\n"
        if self.is_allowed:
            return f"{call}Permission is granted. Use it in the same way and finish the task."
        return " ".join(filter(None, (f"{call}Permission is denied.", self.reason, "Go on.")))


def called(tool: str, given: Mapping[str, Any]) -> str:
    """Return a call as text that is the same for the same call."""
    return f"{tool} {json.dumps(given, sort_keys=True, ensure_ascii=False)}"


def question(paused: Paused, hint: str = "") -> InputRequired:
    """Return the question about the calls that still wait.

    Args:
        paused: The run.
        hint: The fault of the last reply, if any.
    """
    ask = _agents_question if paused.tool == ASKING_TOOL else _permission
    prompt, parts = ask(paused, hint)
    return InputRequired(prompt, [Data(as_json(part)) for part in parts], durable=True, waits=True)


def answered(paused: Paused, parts: Sequence[Part]) -> Paused:
    """Return the run with the answers in a reply.

    Raises:
        InvalidInputError: The reply is unclear or empty, or answers a question that is not open.
    """
    given = replies(parts, paused.asked, paused.waiting)
    read = _text if paused.tool == ASKING_TOOL else _decision
    answers = {name: read(reply, paused) for name, reply in given.items()}
    return replace(paused, answers={**paused.answers, **answers})


def _permission(paused: Paused, hint: str) -> tuple[str, list[object]]:
    """Return the question with the agent's words as a code block.

    Front ends that render Markdown would otherwise hide or restyle parts of a command.
    """
    arguments = json.dumps(paused.given, indent=2, ensure_ascii=False)
    call = shown(f"{paused.tool} {arguments}", paused.folder)
    words = ["yes", *([_ALWAYS] if paused.offers_always else []), "no"]
    asks = f"The agent asks for permission:\n\n{indent(call, '    ')}\n\n"
    prompt = f"{asks}Answer {', '.join(words[:-1])} or {words[-1]}."
    about = {"tool": paused.tool, "arguments": relative(paused.given, paused.folder)}
    return "\n\n".join(filter(None, (hint, prompt))), [{_PERMISSION: {**about, "answers": words}}]


def _agents_question(paused: Paused, hint: str) -> tuple[str, list[object]]:
    known = _questions(paused.given)
    asked = {each: known[each] for each in paused.waiting}
    prompt = numbered([_worded(each, about) for each, about in asked.items()], hint)
    properties = {each: {"type": "string", "title": each} for each in asked}
    form = {"type": "object", "properties": properties, "required": list(properties)}
    return prompt, [*asked.values(), {"response_schema": form}]


def _questions(given: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the questions of the agent by their texts."""
    asked = given.get("questions")
    known = [each for each in asked if isinstance(each, Mapping)] if isinstance(asked, list) else []
    return {str(each.get("question", "")): each for each in known}


def _worded(asked: str, about: Mapping[str, Any]) -> str:
    options = about.get("options")
    lines = [
        f"- {each.get('label', '')}: {each.get('description', '')}".rstrip(": ")
        for each in (options if isinstance(options, list) else ())
        if isinstance(each, Mapping)
    ]
    return "\n".join([asked, *lines])


def _text(reply: object, _: Paused) -> JSON:
    if isinstance(reply, list):
        reply = ", ".join(map(str, reply))
    if reply in ("", None, {}):
        raise InvalidInputError(_EMPTY)
    return reply if isinstance(reply, str) else json.dumps(as_json(reply))


def _decision(reply: object, paused: Paused) -> JSON:
    if isinstance(reply, Mapping):  # of an AG-UI front end
        reply = reply.get("approved")
    if isinstance(reply, bool):
        return "yes" if reply else "no"
    word = reply.strip() if isinstance(reply, str) else ""
    if paused.offers_always and word.lower().rstrip(".!") == _ALWAYS:
        return _ALWAYS
    decision = as_decision(word)
    if decision is None:
        raise InvalidInputError(_UNCLEAR)
    return "yes" if decision[0] else f"no {decision[1]}".strip()


AnyTurn: TypeAlias = "StoredTurn[Transcripts, Paused]"
"""A turn; the state is the session of Claude Code."""
KIND: TurnKind[Transcripts, Paused] = TurnKind.of_json("claude-agent", Paused, question, answered)
"""How conversations are stored and asked about."""


def shown(text: str, folder: str) -> str:
    """Return a text for a question."""
    seen = _relative(text, folder)
    seen = "".join(c if c.isprintable() or c in "\n\t" else " " for c in seen)
    rest = len(seen) - _LENGTH
    return seen if rest <= 0 else f"{seen[:_LENGTH]}\n({rest} more characters)"


def relative(value: object, folder: str) -> JSON:
    """Return any value as JSON whose paths are relative to the folder."""
    return _mapped(as_json(value), folder)


def _mapped(value: JSON, folder: str) -> JSON:
    match value:
        case str():
            return _relative(value, folder)
        case Mapping():
            return {key: _mapped(each, folder) for key, each in value.items()}
        case list():
            return [_mapped(each, folder) for each in value]
    return value


def _relative(text: str, folder: str) -> str:
    return text.replace(f"{folder}/", "").replace(folder, ".") if folder != "/" else text
