"""What crewai does when a remote agent fails: nothing again by itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from crewai.agent import core

from a2a_adapters import RemoteAgentError

F = TypeVar("F", bound=Callable[..., object])


def made_once(call: F) -> F:
    """Keep crewai from wrapping a model's method so that it is called again after some errors.

    It looks for words such as "rate limit", which a remote agent may write about anything.
    """
    vars(call)["_crewai_rate_limit_wrapped"] = True
    return call


@functools.cache
def send_nothing_twice() -> None:
    """Keep crewai from running an agent again after a remote agent's failure.

    Its agents start all over after any error but those on this list, twice. A remote agent may
    have received what was sent, and `RemoteAgent` sends again itself what it did not.
    """
    known = core._passthrough_exceptions  # noqa: SLF001 - there is no public way
    core._passthrough_exceptions = (*known, RemoteAgentError)  # noqa: SLF001
