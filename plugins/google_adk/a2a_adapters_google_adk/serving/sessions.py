"""The session of a run."""

from __future__ import annotations

from typing import Any

from google.adk.sessions.base_session_service import BaseSessionService, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.sessions.state import State


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
