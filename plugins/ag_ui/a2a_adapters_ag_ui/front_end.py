"""The user interface that a message comes from, as agents see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from a2a_adapters import Data, InputRequired, Output

if TYPE_CHECKING:
    from typing import Self

    from a2a_adapters import AgentRequest
    from a2a_adapters.plugin import JSON

METADATA = "ag-ui"
"""The entry of a message's metadata that describes the front end."""

STATE = "state"
"""The name of artifacts with the shared state."""

TOOL_CALL = "tool_call"
"""The key in a question's data for a call of a front end's tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontEnd:
    """The user interface of a run of AG-UI; empty for other clients.

    See https://docs.ag-ui.com/concepts/tools and https://docs.ag-ui.com/concepts/state.

    Attributes:
        thread_id: The front end's id of the conversation.
        run_id: The front end's id of the run.
        state: The state that the front end shares.
        tools: The front end's tools, in AG-UI's format.
        context: The front end's description of itself: `description` and `value` of each entry.
        forwarded_props: The application's own values.
    """

    thread_id: str = ""
    run_id: str = ""
    state: JSON = None
    tools: Sequence[Mapping[str, JSON]] = ()
    context: Sequence[Mapping[str, JSON]] = ()
    forwarded_props: JSON = None
    _names: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def of(cls, request: AgentRequest) -> Self:
        """Return the front end that sent a message."""
        found = request.metadata.get(METADATA)
        said = found if isinstance(found, Mapping) else {}
        tools = _objects(said.get("tools"))
        return cls(
            thread_id=str(said.get("threadId", "")),
            run_id=str(said.get("runId", "")),
            state=said.get("state"),
            tools=tools,
            context=_objects(said.get("context")),
            forwarded_props=said.get("forwardedProps"),
            _names=frozenset(str(tool.get("name")) for tool in tools),
        )

    def has_tool(self, name: str) -> bool:
        """Return whether the front end offers a tool."""
        return name in self._names

    def call(self, name: str, arguments: Mapping[str, JSON]) -> InputRequired:
        """Return the event that calls a tool of the front end.

        Yield it: the next message of the task is the tool's result. Clients of other protocols get
        a question.
        """
        call: JSON = {TOOL_CALL: {"name": name, "arguments": dict(arguments)}}
        return InputRequired(f"Please run {name} and reply with its result.", [Data(call)])

    def update(self, state: Mapping[str, JSON]) -> Output:
        """Return the event that sets the shared state; clients of other protocols get data."""
        return Output([Data(dict(state))], STATE)


def _objects(value: object) -> Sequence[Mapping[str, JSON]]:
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, Mapping)]
