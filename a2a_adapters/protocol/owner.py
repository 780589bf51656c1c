"""The user on whose behalf a call is made, who owns the tasks it creates."""

from __future__ import annotations

from a2a.auth.user import User


class Owner(User):
    """A user known by name only.

    Args:
        name: The name; empty for anonymous callers.
        is_authenticated: Whether the name was verified; by default, if there is one.
    """

    def __init__(self, name: str, *, is_authenticated: bool | None = None) -> None:
        self._name = name
        self._is_authenticated = bool(name) if is_authenticated is None else is_authenticated

    @property
    def is_authenticated(self) -> bool:
        """Whether the name was verified."""
        return self._is_authenticated

    @property
    def user_name(self) -> str:
        """The name."""
        return self._name
