"""What a run is told of who calls, in the words LangChain's and LangGraph's users know."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.runnables.config import merge_configs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import AgentRequest
    from a2a_adapters_langchain.serving.watch import RunWatch


MakeConfig: TypeAlias = "Callable[[AgentRequest], RunnableConfig]"
"""Makes a run's configuration of a request; what keeps conversations apart cannot be replaced."""

_ESCAPED = re.compile(r"\.|%25|%2E")


def run_config(
    request: AgentRequest,
    watch: RunWatch,
    configurable: Mapping[str, Any],
    make: MakeConfig | None,
) -> RunnableConfig:
    """Return the configuration of one run.

    Its metadata has the ids by which the run's traces are found.
    """
    about = {"task_id": request.task_id, "context_id": request.context_id, "owner": request.owner}
    ours: RunnableConfig = {
        "callbacks": [watch],
        "configurable": dict(configurable),
        "metadata": {name: value for name, value in about.items() if value},
    }
    return merge_configs(make(request), ours) if make else ours


def caller(request: AgentRequest) -> dict[str, Any]:
    """Return the caller as LangGraph's server puts them into a run's `configurable`.

    An anonymous caller is authenticated as nobody, but has a `user_id` for each conversation:
    notes kept under it stay apart from those of other conversations and of users. It is a digest,
    so that no choice of a context id makes it another's. The `user_id` of a known caller is their
    name, with percent signs for what LangGraph's stores refuse in a namespace.
    """
    if not request.owner:
        return {"user_id": f"anonymous-{conversation_uuid(request)}"}
    user = {"identity": request.owner, "display_name": request.owner, "is_authenticated": True}
    return {
        "user_id": _label(request.owner),
        "langgraph_auth_user_id": request.owner,
        "langgraph_auth_user": user,
    }


def _label(owner: str) -> str:
    """Return an owner's name without periods, another one for each owner.

    A name that needs no escapes, and does not look as if it had some, stays as it is.
    """
    if not _ESCAPED.search(owner):
        return owner
    return owner.replace("%", "%25").replace(".", "%2E")


def conversation_key(request: AgentRequest, *agent: str) -> str:
    """Return a name for (owner, context) that no other pair has, whatever the strings are.

    With an agent's name it is the name among those of all agents.
    """
    names = json.dumps([*agent, request.owner, request.context_id])
    return hashlib.sha256(names.encode()).hexdigest()


def conversation_uuid(request: AgentRequest, *agent: str) -> str:
    """Return the same as a UUID, for LangGraph's servers, whose threads have no other names."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, conversation_key(request, *agent)))
