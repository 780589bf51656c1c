"""The session of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.sessions.base_session_service import BaseSessionService, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.sessions.state import State

if TYPE_CHECKING:
    from google.adk.events.event import Event


class RunSession(BaseSessionService):
    """The only session of a run.

    In a resumable app, agents add events of their state without any content, which callbacks that
    read the session do not expect. They are kept beside it, until a run continues with it.

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
        self._states: list[tuple[int, Event]] = []
        """The events of the agents' states, each with its place among the others."""

    def as_json(self, *, is_paused: bool) -> str:
        """Return the session as JSON, without the state of the run alone.

        Args:
            is_paused: Whether a run continues with it.
        """
        if is_paused:
            self._restore_states()
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
        """Return the session, with which a run begins or continues."""
        self._restore_states()
        return self._session

    async def append_event(self, session: Session, event: Event) -> Event:
        """Append an event to the session; keep one of an agent's state beside it."""
        actions = event.actions
        is_state = actions.end_of_agent or actions.agent_state is not None
        if is_state and not event.content and not event.partial:
            self._states.append((len(session.events), event))
            return event
        return await super().append_event(session, event)

    def _restore_states(self) -> None:
        for place, event in reversed(self._states):
            self._session.events.insert(place, event)
        self._states.clear()

    async def list_sessions(self, **_: Any) -> ListSessionsResponse:
        """Return the session."""
        return ListSessionsResponse(sessions=[self._session])

    async def delete_session(self, **_: Any) -> None:
        """Keep the session, which ends with the run."""
