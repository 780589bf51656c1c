"""Converts messages to the inputs and input files of a crew or flow.

| the message has        | the inputs get                                                          |
|------------------------|-------------------------------------------------------------------------|
| a data part            | its keys; each must be one of the names the target uses                 |
| text                   | the text, under the one name that is left, or under `text_key`          |
| earlier messages       | the history, as text, under `history_key`                               |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from a2a_adapters import AgentRequest, File, InvalidInputError, Part, TargetError
from a2a_adapters.plugin import NamedInputs, Turn, as_text

if TYPE_CHECKING:
    from crewai import Crew, Flow

Inputs: TypeAlias = dict[str, Any]
ReadInputs: TypeAlias = Callable[[AgentRequest], Mapping[str, Any]]

_MESSAGE = "message"
"""The default name for text in targets that accept any name."""

_HISTORY = "history"
"""The default name for the history."""

_ID = "id"
_PLACEHOLDER = re.compile(r"[A-Za-z_][\w-]*")


def crew_inputs(crew: Crew, text_key: str | None, history_key: str | None) -> RequestInputs:
    """Return the reader for the placeholders of a crew's tasks and agents.

    Callbacks before the kickoff may derive inputs from others, so only they know the names.

    Raises:
        TargetError: The crew has no placeholder, or none of the names in the options.
    """
    # `fetch_inputs` also finds braces that crewai leaves alone, such as those of JSON.
    placeholders = sorted(filter(_PLACEHOLDER.fullmatch, crew.fetch_inputs()))
    has_callbacks = bool(crew.before_kickoff_callbacks)
    if not placeholders and not has_callbacks:
        raise TargetError(
            "this crew has no placeholder such as {message} in its tasks, so that it would "
            "ignore what its callers say"
        )
    return _inputs(
        placeholders, text_key, history_key, is_open=has_callbacks, is_strict=not has_callbacks
    )


def flow_inputs(flow: Flow[Any], text_key: str | None, history_key: str | None) -> RequestInputs:
    """Return the reader for the fields of a flow's state, except its id.

    Raises:
        TargetError: The state has none of the names in the options.
    """
    # With an id, a caller could load the stored flow of another one.
    fields = [name for name in getattr(type(flow.state), "model_fields", ()) if name != _ID]
    if text_key is None and history_key != _MESSAGE and _MESSAGE in fields:
        text_key = _MESSAGE
    return _inputs(fields, text_key, history_key, is_open=not fields, is_strict=False)


def _inputs(
    names: Sequence[str],
    text_key: str | None,
    history_key: str | None,
    *,
    is_open: bool,
    is_strict: bool,
) -> RequestInputs:
    if history_key is None and _HISTORY in names and text_key != _HISTORY and len(names) > 1:
        history_key = _HISTORY
    for option, key in (("text_key", text_key), ("history_key", history_key)):
        if key is not None and key not in names and not is_open:
            raise TargetError(f"{option}: there is no {key!r}, only {', '.join(names)}")
    names = [name for name in names if name != history_key]
    return RequestInputs(
        names=names,
        required=names if is_strict else (),
        text_name=text_key,
        is_open=is_open,
        reserved={_ID, history_key or _ID},
        default_text_name=_MESSAGE if is_open else None,
        history_key=history_key,
    )


class _MissingInputError(InvalidInputError, KeyError):
    """A callback reads an input that was not sent. Callbacks may handle it as a `KeyError`."""

    def __str__(self) -> str:
        return str(self.args[0])


class _CallbackInputs(dict[str, Any]):
    """Inputs for callbacks. Reading a missing one refuses the message and names it."""

    def __init__(self, inputs: Inputs, usage: str) -> None:
        super().__init__(inputs)
        self._usage = usage

    def __missing__(self, name: str) -> Any:
        raise _MissingInputError(f"missing: {name}. {self._usage}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestInputs(NamedInputs):
    """Reads the inputs of a crew or flow from a request.

    Attributes:
        history_key: The name of the input that receives the history as text.
    """

    history_key: str | None = None

    def __call__(self, request: AgentRequest) -> Inputs:
        """Return the inputs.

        Raises:
            InvalidInputError: Names are missing or unknown, or the name for the text is unclear.
        """
        inputs = self.read(request.parts, request.text.strip())
        self.check_complete(inputs)
        if self.history_key:
            inputs[self.history_key] = _transcript(request.history)
        return inputs

    def for_callbacks(self, inputs: Inputs) -> Inputs:
        """Return inputs that refuse the message if a callback reads a missing one.

        This is the first of the callbacks before a kickoff.
        """
        return _CallbackInputs(inputs, self.usage)

    def complete(self, inputs: Inputs) -> Inputs:
        """Return the callbacks' inputs; the text fills the one name that they left open.

        This is the last of the callbacks before a kickoff.

        Raises:
            InvalidInputError: Names are missing.
        """
        complete = dict(inputs)
        missing = [name for name in self.names if name not in complete]
        if len(missing) == 1 and _MESSAGE in complete:
            complete[missing.pop()] = complete[_MESSAGE]
        if missing:
            raise self.missing(missing)
        return complete


def _transcript(history: Sequence[Turn]) -> str:
    """Return earlier messages as text, each beginning with its speaker."""
    return "\n".join(
        f"{turn.role}: {as_text(turn.parts).strip()}" for turn in history if turn.parts
    )


def takes_files() -> bool:
    """Whether crewai's support for files is installed."""
    return find_spec("crewai_files") is not None


def input_files(parts: Sequence[Part]) -> dict[str, Any] | None:
    """Return the files by name, for `input_files` of a kickoff; None without files.

    Raises:
        InvalidInputError: Files are not supported here, or one is given by URL.
    """
    files = [part for part in parts if isinstance(part, File)]
    if not files:
        return None
    if not takes_files():
        raise InvalidInputError("this agent takes text and data, no files")
    crewai_files: Any = import_module("crewai_files")  # of an extra of crewai

    named: dict[str, Any] = {}
    for number, file in enumerate(files, start=1):
        name = file.filename or f"file{number}"
        source = crewai_files.FileBytes(data=file.received(), filename=name)
        named[name if name not in named else f"{number}-{name}"] = crewai_files.File(source=source)
    return named
