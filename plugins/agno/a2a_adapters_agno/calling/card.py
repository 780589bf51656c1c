"""Where an Agno server is, by its card."""

from __future__ import annotations

from dataclasses import dataclass

from a2a.types import AgentCapabilities, AgentCard, AgentInterface

from a2a_adapters.dialects import agent_url

__all__ = ["agno_card"]

_STREAM = "/v1/message:stream"
_ROOT_ROUTES = ("/a2a/message/send", "/a2a/message/stream")


@dataclass(frozen=True, slots=True)
class Addresses:
    """The addresses of an agent's methods.

    Attributes:
        send: Of `message/send`.
        stream: Of `message/stream`.
        get: Of `tasks/get`; "" where tasks are not kept.
        cancel: Of `tasks/cancel`, likewise.
        agent_id: Which of the agents at that address is meant; "" if the address tells.
    """

    send: str
    stream: str
    get: str = ""
    cancel: str = ""
    agent_id: str = ""


def addresses_of(card: AgentCard, url: str) -> Addresses | None:
    """Return the addresses of an Agno agent, None for any other.

    The cards of Agno name the address of a single method, that for streaming.
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
    """Return a card for an agent of a server that has none: `RemoteAgent(agno_card(...))`.

    Agno-Go has none, nor has Agno before 2.3.26. They are called at `/a2a/message/send`.

    Args:
        url: The server's address.
        agent_id: Which of its agents is meant.

    Raises:
        ConfigurationError: The address is none.
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
