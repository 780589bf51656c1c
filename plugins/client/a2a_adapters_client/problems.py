"""Maps exceptions to error output and exit codes (a2a-cli 0.2, section 11.4, appendix D)."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from a2a.utils.errors import JSON_RPC_ERROR_CODE_MAP

from a2a_adapters import (
    RemoteAgentError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteRefusedError,
    RemoteTimeoutError,
)
from a2a_adapters.calling.card import InvalidCardError
from a2a_adapters.calling.errors import NoCardError
from a2a_adapters.cli.exits import (
    FAILED,
    TIMED_OUT,
    UNAUTHENTICATED,
    UNREACHABLE,
    USAGE,
    located,
)
from a2a_adapters.cli.terminal import one_line
from a2a_adapters.contract.errors import (
    A2AAdaptersError,
    ConfigurationError,
    ForbiddenUrlError,
)
from a2a_adapters_client.envelope import Problem
from a2a_adapters_client.oauth.store import Store, origin_named

if TYPE_CHECKING:
    from a2a_adapters_client.access import Access

_DEBUG = "use --debug to show requests and responses"
_NAMES = {code: kind.__name__ for kind, code in JSON_RPC_ERROR_CODE_MAP.items()}


def problem_of(error: A2AAdaptersError, access: Access) -> Problem:
    """Return the problem to report for an error."""
    if isinstance(error, RemoteAgentError):
        return _remote(error, access)
    return Problem("A2ACLI_ERR_USAGE", located(error), USAGE)


def _remote(error: RemoteAgentError, access: Access) -> Problem:
    text = one_line(str(error))
    match error:
        case NoCardError():
            text = one_line(error.message)
            return Problem("A2ACLI_ERR_CARD_NOT_FOUND", text, UNREACHABLE, error.hint or None)
        case InvalidCardError():
            return Problem("A2ACLI_ERR_CARD_INVALID", text, FAILED)
        case RemoteConnectionError():
            return _unreachable(error, text, access)
        case RemoteTimeoutError():
            return Problem("A2ACLI_ERR_TIMEOUT", text, TIMED_OUT, _follow(error, access))
        case RemoteAuthError():
            return _credentials(text, access)
        case _:
            code = error.code if isinstance(error, RemoteRefusedError) else 0
            name = _NAMES.get(code, "A2ACLI_ERR_INTERNAL")
            return Problem(name, text, FAILED, _DEBUG, code or None)


def _unreachable(error: RemoteConnectionError, text: str, access: Access) -> Problem:
    hint = _follow(error, access)
    cause = error.__cause__
    if isinstance(cause, ForbiddenUrlError) and cause.host:
        text = one_line(f"the agent's card names a forbidden address: {cause.message}")
        hint = f"if you trust it: --allow-host {shlex.quote(cause.host)}"
    return Problem("A2ACLI_ERR_UNREACHABLE", text, UNREACHABLE, hint)


def _credentials(text: str, access: Access) -> Problem:
    login = access.again("auth login")
    if access.bearer or access.api_key or access.svc_param or access.client_cert:
        return Problem("A2ACLI_ERR_AUTH_FAILED", text, UNAUTHENTICATED)
    if _is_logged_in(access.agent_card):
        return Problem("A2ACLI_ERR_AUTH_FAILED", text, UNAUTHENTICATED, f"log in again: {login}")
    hint = f"pass --bearer or --api-key, set their variables, or log in with OAuth: {login}"
    return Problem("A2ACLI_ERR_CREDENTIALS_MISSING", text, UNAUTHENTICATED, hint)


def _is_logged_in(reference: str) -> bool:
    try:
        return origin_named(reference) in Store().read()
    except ConfigurationError:  # a card file, or an unreadable login file
        return False


def _follow(error: RemoteConnectionError | RemoteTimeoutError, access: Access) -> str | None:
    """Return the command that resumes following a running task."""
    return access.again("task get", "--wait", argument=error.task_id) if error.task_id else None
