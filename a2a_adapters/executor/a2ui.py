"""User interfaces from agents: A2UI 0.9.1, for callers that activate it.

See https://a2ui.org, `specification/v0_9_1` of the repository google/A2UI: the extension and its
`server_to_client_list.json`. Components are defined by a catalog and not checked here.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from a2a_adapters.contract.events import A2UI_EXTENSION, Output
from a2a_adapters.contract.parts import Data, Text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Self

A2UI_TYPE = "application/a2ui+json"
"""The media type of a part with A2UI messages."""

_KINDS = frozenset({"createSurface", "updateComponents", "updateDataModel", "deleteSurface"})
_UNSEEN = "(This answer is an interface, in A2UI.)"

logger = logging.getLogger(__name__)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _CreateSurface(_Strict):
    surfaceId: str  # noqa: N815 - as in the protocol
    catalogId: str  # noqa: N815
    theme: dict[str, Any] = Field(default_factory=dict)
    sendDataModel: bool = False  # noqa: N815


class _UpdateComponents(_Strict):
    surfaceId: str  # noqa: N815
    components: list[dict[str, Any]] = Field(min_length=1)


class _UpdateDataModel(_Strict):
    surfaceId: str  # noqa: N815
    path: str = "/"
    value: Any = None


class _DeleteSurface(_Strict):
    surfaceId: str  # noqa: N815


class _Message(_Strict):
    version: Literal["v0.9", "v0.9.1"]
    createSurface: _CreateSurface | None = None  # noqa: N815
    updateComponents: _UpdateComponents | None = None  # noqa: N815
    updateDataModel: _UpdateDataModel | None = None  # noqa: N815
    deleteSurface: _DeleteSurface | None = None  # noqa: N815

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if len(self.model_fields_set & _KINDS) != 1:
            raise ValueError(f"it has to be one of {', '.join(sorted(_KINDS))}")
        return self


def negotiated(output: Output, active: Collection[str]) -> Output:
    """Return an artifact in a form that its caller can show.

    Callers that activated A2UI get the interface. All others get the text beside it or, without
    one, the texts in the interface. Invalid messages are dropped and logged.
    """
    surfaces = [part for part in output.parts if isinstance(part, Data) and _is_interface(part)]
    if not surfaces:
        return output
    rest = [part for part in output.parts if part not in surfaces]
    messages = [each for part in surfaces for each in _valid(_messages(part))]
    if A2UI_EXTENSION in active and messages:
        interface = Data(messages, metadata={"mimeType": A2UI_TYPE}, media_type=A2UI_TYPE)
        parts = [interface, *(part for part in rest if not isinstance(part, Text))]
        return replace(output, parts=parts, extensions=[*output.extensions, A2UI_EXTENSION])
    return replace(output, parts=rest or [Text("\n".join(_texts(messages)) or _UNSEEN)])


def _is_interface(part: Data) -> bool:
    return part.media_type == A2UI_TYPE or any(
        isinstance(each, dict) and "version" in each and not _KINDS.isdisjoint(each)
        for each in _messages(part)
    )


def _messages(part: Data) -> Sequence[Any]:
    """Return the messages of a part: a list, or the only member `messages` of an object."""
    value = part.value
    if isinstance(value, dict) and value.keys() == {"messages"}:
        value = value["messages"]
    return value if isinstance(value, list) else []


def _valid(messages: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Yield the valid messages; each is checked on its own."""
    for number, message in enumerate(messages):
        try:
            _Message.model_validate(message)
        except ValidationError as error:
            found = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, found["loc"]))
            logger.warning("A2UI message %d is left out: %s: %s", number, place, found["msg"])
        else:
            yield message


def _texts(messages: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the literal texts of components."""
    for message in messages:
        for component in message.get("updateComponents", {}).get("components", []):
            nested = next((each for each in component.values() if isinstance(each, dict)), {})
            text = component.get("text", nested.get("text"))
            if isinstance(text, str):
                yield text
