"""Makes the configuration of a run: callbacks, caller, thread and limits."""

from __future__ import annotations

import os
import re
import uuid
from typing import TYPE_CHECKING, Any, TypeAlias

from langchain_core.runnables.config import merge_configs

from a2a_adapters.plugin import installed_plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from langchain_core.runnables import RunnableConfig

    from a2a_adapters import AgentRequest
    from a2a_adapters_langchain.serving.watch import RunWatch


MakeConfig: TypeAlias = "Callable[[AgentRequest], RunnableConfig]"
"""Makes a run's configuration for a request. It cannot replace the ids of the conversation."""

_ESCAPED = re.compile(r"\.|%25|%2E")


def run_config(
    request: AgentRequest,
    watch: RunWatch,
    configurable: Mapping[str, Any],
    make: MakeConfig | None,
) -> RunnableConfig:
    """Return the configuration of one run.

    Its metadata identifies the run's traces. LangSmith groups them by `session_id`, and Langfuse by
    the keys that begin with its name; `make` may replace these.
    """
    ids = {"task_id": request.task_id, "context_id": request.context_id, "owner": request.owner}
    groups = {
        "session_id": request.context_id,
        "langfuse_session_id": request.context_id,
        "langfuse_user_id": request.owner,
    }
    telemetry = installed_plugins().telemetry
    if telemetry.is_tracing:
        ids["trace_id"] = telemetry.trace_id()
    ours: RunnableConfig = {
        "callbacks": [watch],
        "configurable": dict(configurable),
        "metadata": _known(ids),
    }
    made = [make(request)] if make else []
    return merge_configs({"metadata": _known(groups)}, *made, ours)


def _known(ids: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in ids.items() if value}


def caller(request: AgentRequest) -> dict[str, Any]:
    """Return the caller as LangGraph's server puts them into a run's `configurable`.

    The `user_id` of a known caller is the owner's name, escaped with percent signs because
    LangGraph's stores allow no periods in a namespace. An anonymous caller has a `user_id` for
    each conversation, so that notes stored under it are separate from those of other
    conversations and users. It is a digest, so that no context id can imitate another one.
    """
    if not request.owner:
        return {"user_id": f"anonymous-{conversation_uuid(request)}"}
    user = {"identity": request.owner, "display_name": request.owner, "is_authenticated": True}
    return {
        "user_id": _label(request.owner),
        "langgraph_auth_user_id": request.owner,
        "langgraph_auth_user": user,
    }


def caller_with_claims(request: AgentRequest) -> dict[str, Any]:
    """Return the caller with the claims and scopes of their token, for graphs of this process."""
    ids = caller(request)
    if user := ids.get("langgraph_auth_user"):
        permissions = sorted(request.caller.scopes)
        ids["langgraph_auth_user"] = {**request.caller.claims, **user, "permissions": permissions}
        ids["langgraph_auth_permissions"] = permissions
    return ids


def _label(owner: str) -> str:
    """Escape the periods in a name; different names have different labels."""
    if not _ESCAPED.search(owner):
        return owner
    return owner.replace("%", "%25").replace(".", "%2E")


def conversation_uuid(request: AgentRequest, *agent: str) -> str:
    """Return `AgentRequest.conversation_key` as a UUID, the name of threads on other servers."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, request.conversation_key(*agent)))


_MAX_STEPS = 100
"""The number of steps for one message, if the developer sets no `recursion_limit`."""

_DEFAULT_LIMITS = (None, 9_999)
"""Recursion limits that the developer did not set; the second is that of `create_agent`."""


def step_limit(graph: Any) -> RunnableConfig:
    """Return the configuration that limits a graph's steps; empty if the developer has set one."""
    if (graph.config or {}).get("recursion_limit") not in _DEFAULT_LIMITS:
        return {}
    # LangGraph reads the same variable; its own default is 10,007 steps.
    return {"recursion_limit": int(os.environ.get("LANGGRAPH_DEFAULT_RECURSION_LIMIT", _MAX_STEPS))}
