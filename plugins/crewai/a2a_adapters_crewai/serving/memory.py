"""Stores the states and questions of flows: one state for each conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from crewai.flow.async_feedback.types import PendingFeedbackContext
from crewai.flow.persistence.base import FlowPersistence
from crewai.flow.persistence.sqlite import SQLiteFlowPersistence
from pydantic import BaseModel, PrivateAttr
from pydantic_core import from_json, to_json

from a2a_adapters.plugin import CancelFlag

if TYPE_CHECKING:
    from crewai import Flow

    from a2a_adapters import AgentRequest
    from a2a_adapters.plugin import StateStorage

T = TypeVar("T")

_STATE, _QUESTION = "crewai.state", "crewai.question"
_SECONDS = 60.0
"""The time limit of a storage operation."""


def keeps_state(flow: Flow[Any]) -> bool:
    """Whether the flow, or one of its methods, has an enabled `@persist`."""
    return any(store and store.enabled for store in _persists(flow))


def state_id(flow: Flow[Any], request: AgentRequest) -> str:
    """Return the id of a conversation's state, which crewai loads at the kickoff.

    Flows that share a database must not share states, so their names are part of it.
    """
    kind = type(flow)
    return request.conversation_key(kind.__module__, kind.__qualname__, flow.name)


def has_own_store(flow: Flow[Any]) -> bool:
    """Whether a flow chooses its store; crewai's default store does not count."""
    stores = (flow.persistence, *(store.persistence for store in _persists(flow) if store))
    return not all(map(_is_default, stores))


def _persists(flow: Flow[Any]) -> list[Any]:
    definition = type(flow).flow_definition()
    return [definition.persist, *(method.persist for method in definition.methods.values())]


def _is_default(store: object) -> bool:
    default = SQLiteFlowPersistence.model_fields["db_path"].get_default(call_default_factory=True)
    match store:
        case None:
            return True
        case Mapping():
            kind, path = store.get("persistence_type"), store.get("db_path")
            return kind == SQLiteFlowPersistence.__name__ and path == default
        case _:
            return type(store) is SQLiteFlowPersistence and store.db_path == default


class ServerPersistence(FlowPersistence):
    """Keeps states and questions in the server's storage, under the ids of flows.

    It is called in other threads and event loops, and leaves the work to the server's loop.
    """

    persistence_type: str = "ServerPersistence"
    _storage: StateStorage = PrivateAttr()
    _loop: asyncio.AbstractEventLoop = PrivateAttr()
    _cancelled: CancelFlag = PrivateAttr(default_factory=CancelFlag)

    @classmethod
    def on(cls, storage: StateStorage) -> ServerPersistence:
        """Return the persistence on a storage of the running loop."""
        made = cls()
        made._storage, made._loop = storage, asyncio.get_running_loop()
        return made

    def during(self, cancelled: CancelFlag) -> ServerPersistence:
        """Return the persistence for one run, which stores nothing once the run is abandoned."""
        made = ServerPersistence()
        made._storage, made._loop, made._cancelled = self._storage, self._loop, cancelled
        return made

    def init_db(self) -> None:
        """Do nothing: the server creates the tables."""

    def save_state(
        self,
        flow_uuid: str,
        method_name: str,  # noqa: ARG002 - only the latest state is kept
        state_data: dict[str, Any] | BaseModel,
    ) -> None:
        """Store the state of a flow after a method."""
        self._write(flow_uuid, _STATE, to_json(state_data, fallback=str))

    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        """Return the latest state, or None."""
        body = self._read(flow_uuid, _STATE)
        return None if body is None else cast("dict[str, Any]", from_json(body))

    def save_pending_feedback(
        self,
        flow_uuid: str,
        context: PendingFeedbackContext,
        state_data: dict[str, Any] | BaseModel,
    ) -> None:
        """Store a question with the state of its flow."""
        self.save_state(flow_uuid, context.method_name, state_data)
        question = {"state": state_data, "context": context.to_dict()}
        self._write(flow_uuid, _QUESTION, to_json(question, fallback=str))

    def load_pending_feedback(
        self, flow_uuid: str
    ) -> tuple[dict[str, Any], PendingFeedbackContext] | None:
        """Return the state and the question of a flow; None without a question."""
        body = self._read(flow_uuid, _QUESTION)
        if body is None:
            return None
        question = from_json(body)
        return question["state"], PendingFeedbackContext.from_dict(question["context"])

    def clear_pending_feedback(self, flow_uuid: str) -> None:
        """Delete the question of a flow."""
        self._write(flow_uuid, _QUESTION, None)

    def _read(self, flow_id: str, kind: str) -> bytes | None:
        return self._wait(self._storage.read_state("", flow_id, kind))

    def _write(self, flow_id: str, kind: str, body: bytes | None) -> None:
        if self._cancelled.left_behind:  # the conversation now belongs to another run
            return
        self._wait(self._storage.write_state("", flow_id, kind, body))

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_SECONDS)
