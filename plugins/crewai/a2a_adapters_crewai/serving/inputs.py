"""From a request to the inputs of a crew or flow.

| the message has        | the inputs get                                                          |
|------------------------|-------------------------------------------------------------------------|
| a data part            | its keys; each must be one of the names the target uses                 |
| text                   | the text, under the one name that is left, or under `text_key`          |
| earlier messages       | what was said before, as text, under `history_key`                      |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a_adapters import AgentRequest, Data, InvalidInputError, TargetError, Turn, as_text

if TYPE_CHECKING:
    from crewai import Crew, Flow

Inputs: TypeAlias = dict[str, Any]
ReadInputs: TypeAlias = Callable[[AgentRequest], Mapping[str, Any]]

MESSAGE = "message"
"""Where text goes in targets that take any name."""

HISTORY = "history"
"""Where what was said before goes unless told otherwise."""

_ID = "id"
_PLACEHOLDER = re.compile(r"[A-Za-z_][\w-]*")


def crew_inputs(crew: Crew, text_key: str | None, history_key: str | None) -> NamedInputs:
    """Return what reads the inputs of a crew: the placeholders of its tasks and agents.

    Callbacks before the kickoff may make inputs of others, so that only they know the names.

    Raises:
        TargetError: The crew has no placeholder, or none of the names in the options.
    """
    # Its pattern also finds what crewai leaves alone, such as the braces of JSON.
    placeholders = sorted(filter(_PLACEHOLDER.fullmatch, crew.fetch_inputs()))
    history_key = _history_key(placeholders, text_key, history_key)
    is_open = bool(crew.before_kickoff_callbacks)
    if not placeholders and not is_open:
        raise TargetError(
            "this crew has no placeholder such as {message} in its tasks, so that it would "
            "ignore what its callers say"
        )
    _check_keys(placeholders, text_key, history_key, is_open=is_open)
    names = [name for name in placeholders if name != history_key]
    return NamedInputs(
        names=names,
        required=() if is_open else names,
        text_key=text_key,
        history_key=history_key,
        is_open=is_open,
    )


def flow_inputs(flow: Flow[Any], text_key: str | None, history_key: str | None) -> NamedInputs:
    """Return what reads the inputs of a flow: the fields of its state, except its id.

    Raises:
        TargetError: The state has none of the names in the options.
    """
    # With an id, a caller could load what another one's flow has stored.
    fields = [name for name in getattr(type(flow.state), "model_fields", ()) if name != _ID]
    is_open = not fields
    history_key = _history_key(fields, text_key, history_key)
    _check_keys(fields, text_key, history_key, is_open=is_open)
    names = [name for name in fields if name != history_key]
    return NamedInputs(
        names=names,
        required=(),
        text_key=text_key or (MESSAGE if MESSAGE in names else None),
        history_key=history_key,
        is_open=is_open,
    )


def transcript(history: Sequence[Turn]) -> str:
    """Return what was said before, a line or more for each message."""
    return "\n".join(
        f"{turn.role}: {as_text(turn.parts).strip()}" for turn in history if turn.parts
    )


def _history_key(names: Sequence[str], text_key: str | None, given: str | None) -> str | None:
    """Return where the conversation goes: where the user says, or to a name that says so."""
    is_free = given is None and HISTORY in names and text_key != HISTORY and len(names) > 1
    return HISTORY if is_free else given


def _check_keys(
    names: Sequence[str], text_key: str | None, history_key: str | None, *, is_open: bool
) -> None:
    for option, key in (("text_key", text_key), ("history_key", history_key)):
        if key is not None and key not in names and not is_open:
            raise TargetError(f"{option}: there is no {key!r}, only {', '.join(names)}")


class _MissingInputError(InvalidInputError, KeyError):
    """A callback wants an input that was not sent; one that expects a `KeyError` gets it."""

    def __str__(self) -> str:
        return str(self.args[0])


class _Asked(dict[str, Any]):
    """Inputs that tell the caller what is missing when somebody looks for it."""

    def __init__(self, inputs: Inputs, usage: str) -> None:
        super().__init__(inputs)
        self._usage = usage

    def __missing__(self, name: str) -> Any:
        raise _MissingInputError(f"missing: {name}. {self._usage}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedInputs:
    """Reads requests for a target whose inputs have names.

    Attributes:
        names: The names, except that of the history; empty if it takes any.
        required: Those that must be there.
        text_key: The name of what is sent as text; None if that is the one that is left.
        history_key: The name of what was said before.
        is_open: Whether names that are not listed are taken, too.
    """

    names: Sequence[str]
    required: Sequence[str]
    text_key: str | None = None
    history_key: str | None = None
    is_open: bool = False

    def ask(self, inputs: Inputs) -> Inputs:
        """Return the inputs for callbacks, which refuse the message if one wants what is not there.

        It is the first of the callbacks before a kickoff.
        """
        return _Asked(inputs, self._usage())

    def complete(self, inputs: Inputs) -> Inputs:
        """Return what the callbacks have made, with the text where they have left one name open.

        It is the last of them.

        Raises:
            InvalidInputError: Names are missing.
        """
        complete = dict(inputs)
        missing = [name for name in self.names if name not in complete]
        if len(missing) == 1 and MESSAGE in complete:
            complete[missing.pop()] = complete[MESSAGE]
        if missing:
            raise InvalidInputError(f"missing: {', '.join(missing)}. {self._usage()}")
        return complete

    def __call__(self, request: AgentRequest) -> Inputs:
        """Return the inputs.

        Raises:
            InvalidInputError: Names are missing or unknown, or it is not clear what the text is.
        """
        inputs = self._of_data(request)
        if text := request.text.strip():
            inputs[self._text_key(inputs)] = text
        if missing := [name for name in self.required if name not in inputs]:
            raise InvalidInputError(f"missing: {', '.join(missing)}. {self._usage()}")
        if self.history_key:
            inputs[self.history_key] = transcript(request.history)
        return inputs

    def _of_data(self, request: AgentRequest) -> Inputs:
        inputs: Inputs = {}
        for part in request.parts:
            if isinstance(part, Data):
                if not isinstance(part.value, Mapping):
                    raise InvalidInputError(f"a data part must be an object. {self._usage()}")
                inputs |= part.value
        unknown = sorted(name for name in inputs if not self._knows(name))
        if unknown:
            raise InvalidInputError(f"unknown: {', '.join(unknown)}. {self._usage()}")
        return inputs

    def _knows(self, name: str) -> bool:
        return name in self.names or (self.is_open and name not in {self.history_key, _ID})

    def _text_key(self, inputs: Mapping[str, Any]) -> str:
        if self.text_key:
            return self.text_key
        free = [name for name in self.required or self.names if name not in inputs]
        if len(free) == 1:
            return free[0]
        if self.is_open:
            return MESSAGE
        if free:
            raise InvalidInputError(f"text alone is not enough. {self._usage()}")
        raise InvalidInputError(f"the data part has every name, the text none. {self._usage()}")

    def _usage(self) -> str:
        names = (f"{n} (required)" if n in self.required else n for n in self.names)
        return f"Send a data part with: {', '.join(names) or 'any names'}"
