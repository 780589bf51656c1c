"""URLs of an Agno server, derived from its card."""

from __future__ import annotations

from dataclasses import dataclass

from a2a.types import AgentCapabilities, AgentCard, AgentInterface

from a2a_adapters.dialects import agent_url

__all__ = ["agno_card"]

_STREAM = "/v1/message:stream"
_ROOT_ROUTES = ("/a2a/message/send", "/a2a/message/stream")


@dataclass(frozen=True, slots=True)
class Addresses:
    """URLs of an agent's methods.

    Attributes:
        send: URL of `message/send`.
        stream: URL of `message/stream`.
        get: URL of `tasks/get`; "" if tasks are not stored.
        cancel: URL of `tasks/cancel`, likewise.
        agent_id: Id of the agent at that URL; "" if the URL identifies it.
    """

    send: str
    stream: str
    get: str = ""
    cancel: str = ""
    agent_id: str = ""


def addresses_of(card: AgentCard, url: str) -> Addresses | None:
    """Return the URLs of an Agno agent, None for other agents.

    Agno's cards contain only the URL of the streaming method.
    """
    if url.endswith(_STREAM):
        base = url.removesuffix(_STREAM)
        return Addresses(
            send=f"{base}/v1/message:send",
            stream=url,
            get=f"{base}/v1/tasks:get",
            cancel=f"{base}/v1/tasks:cancel",
        )
    for route in _ROOT_ROUTES:
        if url.endswith(route):
            root = url.removesuffix(route)
            agent_id = next(i.tenant for i in card.supported_interfaces if i.url == url)
            send, stream = (root + each for each in _ROOT_ROUTES)
            return Addresses(send=send, stream=stream, agent_id=agent_id)
    return None


def agno_card(url: str, agent_id: str) -> AgentCard:
    """Return a card for an agent of a server without cards: `RemoteAgent(agno_card(...))`.

    Agno-Go and Agno before 2.3.26 have no cards; they are called at `/a2a/message/send`.

    Args:
        url: URL of the server.
        agent_id: Id of the agent.

    Raises:
        ConfigurationError: The URL is invalid.
    """
    root = str(agent_url(url)).rstrip("/").removesuffix("/a2a")
    interface = AgentInterface(
        url=root + _ROOT_ROUTES[0],
        protocol_binding="JSONRPC",
        protocol_version="0.3",
        tenant=agent_id,
    )
    return AgentCard(
        name=agent_id,
        description=f"The Agno agent {agent_id}.",
        version="0",
        supported_interfaces=[interface],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
