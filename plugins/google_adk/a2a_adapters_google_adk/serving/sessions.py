"""The session of a run, and the stored data of a conversation."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, TypeAlias

from google.adk.sessions.base_session_service import BaseSessionService, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.sessions.state import State

from a2a_adapters.conversing import Remembered, StoredTurn, TurnKind
from a2a_adapters_google_adk.serving.questions import Paused, answered, question

_Known: TypeAlias = "Remembered[str, Paused]"
AnyTurn: TypeAlias = "StoredTurn[str, Paused]"
"""A turn; the state is the session as JSON, empty for a runner, which has sessions of its own."""


class RunSession(BaseSessionService):
    """The only session of a run.

    Args:
        stored: The session as JSON; empty for a new one.
        app_name: The app.
        user_id: The user.
        session_id: The session's id.
    """

    def __init__(self, stored: str, *, app_name: str, user_id: str, session_id: str) -> None:
        self._session = (
            Session.model_validate_json(stored)
            if stored
            else Session(id=session_id, app_name=app_name, user_id=user_id)
        )

    def as_json(self) -> str:
        """Return the session as JSON, without the state of the run alone."""
        session = self._session
        lasting = {
            key: value
            for key, value in session.state.items()
            if not key.startswith(State.TEMP_PREFIX)
        }
        copy = session.model_copy(update={"state": lasting})
        return copy.model_dump_json(by_alias=True, exclude_none=True)

    async def create_session(self, **_: Any) -> Session:
        """Return the session."""
        return self._session

    async def get_session(self, **_: Any) -> Session:
        """Return the session."""
        return self._session

    async def list_sessions(self, **_: Any) -> ListSessionsResponse:
        """Return the session."""
        return ListSessionsResponse(sessions=[self._session])

    async def delete_session(self, **_: Any) -> None:
        """Keep the session, which ends with the run."""


def _encoded(known: _Known) -> bytes:
    return json.dumps(asdict(known)).encode()


def _decoded(body: bytes) -> _Known:
    stored = json.loads(body)
    paused = stored["paused"]
    return Remembered(stored["state"], Paused(**paused) if paused else None)


KIND = TurnKind("google-adk", _encoded, _decoded, question, answered)
"""How conversations of the framework are stored and asked about."""
