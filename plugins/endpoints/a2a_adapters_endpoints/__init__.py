"""Agents without a framework: commands, webhooks, models with OpenAI's chat API, remote A2A agents.

`a2a-adapters serve 'exec:wc -w'`, `serve webhook:https://...` and
`serve openai:http://localhost:11434/v1#llama3` serve them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a_adapters.plugin import hookimpl, lazy_names

if TYPE_CHECKING:
    from a2a_adapters_endpoints.chat import ChatAgent
    from a2a_adapters_endpoints.command import CommandAgent
    from a2a_adapters_endpoints.remote import RemoteA2AAgent
    from a2a_adapters_endpoints.webhook import WebhookAgent

__all__ = ["ChatAgent", "CommandAgent", "RemoteA2AAgent", "WebhookAgent"]

_KINDS = {
    "a2a": "RemoteA2AAgent",
    "exec": "CommandAgent",
    "openai": "ChatAgent",
    "webhook": "WebhookAgent",
}


@hookimpl
def a2a_target(word: str) -> object | None:
    """Return the agent for `exec:COMMAND`, `webhook:URL`, `openai:URL#MODEL` or `https://URL#NAME`."""
    kind, colon, rest = word.partition(":")
    if kind in {"http", "https"} and rest.startswith("//"):
        kind, rest = "a2a", word
    if not colon or kind not in _KINDS:
        return None
    agent: object = __getattr__(_KINDS[kind]).of_word(rest)
    return agent


__getattr__ = lazy_names(
    __name__,
    {
        "ChatAgent": "chat",
        "CommandAgent": "command",
        "RemoteA2AAgent": "remote",
        "WebhookAgent": "webhook",
    },
)
