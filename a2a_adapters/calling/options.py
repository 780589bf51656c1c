"""Options for calling remote agents: limits, preferences and interceptors."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypedDict

from a2a_adapters.calling.verification import check_keys
from a2a_adapters.contract.checking import check_arguments, check_fields, check_type
from a2a_adapters.net import OutboundPolicy
from a2a_adapters.net.proxies import check_proxy

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from a2a.types import TaskPushNotificationConfig

    from a2a_adapters.calling.reply import AgentReply
    from a2a_adapters.calling.verification import TrustedKeys
    from a2a_adapters.contract.parts import JSON, Part

_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOptions:
    """Limits and preferences for calling a remote agent. Times are in seconds, sizes in bytes.

    Attributes:
        timeout: Maximum time for the complete answer to a message; then its task is cancelled.
        connect_timeout: Maximum time to connect.
        idle_timeout: Maximum silence of an open stream, heartbeats included; then it counts as
            broken and is resumed.
        retries: Maximum number of retries if the agent is unreachable or busy (HTTP 429 and 503),
            and of messages that may have been received, if `resend` allows.
        resend: Whether to resend a message under its id if the connection breaks before any
            response. By default only if the card says that the agent recognises duplicates; set it
            for other agents that do. An agent that does not may answer twice.
        answer_bytes: Maximum size of an answer, including all events of a stream.
        answer_values: Maximum number of JSON values in an answer, or in one event of a stream.
        card_bytes: Maximum size of a card.
        outbound: The policy for hosts other than the agent's own that a card names.
        trusted_hosts: Other servers that get the credentials and are exempt from `outbound`:
            `host:port`, or `host` for all of its ports.
        progress: Whether to request the agent's steps and tool calls.
        stream: Whether to stream answers if the agent can. An agent that refuses a stream is asked
            without one.
        status_text: Whether messages of working statuses are text of the answer, as google-adk,
            strands and langgraph-api stream it, rather than `Progress`. By default it is recognised
            by the second message of an answer, and remembered for the next answers.
        accepted_output_modes: Accepted media types of the answer; empty means any.
        conversations: Maximum number of conversations kept by key.
        extensions: URIs of extensions to activate if the agent supports them.
        bindings: Preferred bindings, best first: "JSONRPC", "HTTP+JSON", "GRPC". By default, or if
            the agent offers none of them, the first of its card other than gRPC.
        proxy: The URL of the HTTP proxy for all hosts but this machine, "" for none. By default
            that of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`).
            `outbound` applies to the hosts that a proxy is asked for.
        trusted_keys: Public keys, one of which must have signed the agent's card: keys in PEM
            format, JSON Web Keys, key sets, https URLs of key sets, or a list of these. Otherwise
            calls raise `CardSignatureError`. URLs obey `outbound`, and are read once, with the
            card. Without keys, signatures are not verified.
        tls: Verifies servers over HTTP and holds the client certificate; by default the usual
            authorities and no certificate.
        interceptors: Run before each message, in this order, and after each reply, in the opposite
            order.

    Raises:
        ConfigurationError: A value has the wrong type or is out of range.
    """

    timeout: float = 900
    connect_timeout: float = 10
    idle_timeout: float = 120
    retries: int = 3
    resend: bool | None = None
    answer_bytes: int = 64 * _MEBIBYTE
    answer_values: int = 100_000
    card_bytes: int = _MEBIBYTE
    outbound: OutboundPolicy = field(default_factory=OutboundPolicy)
    trusted_hosts: Collection[str] = ()
    progress: bool = False
    stream: bool = True
    status_text: bool | None = None
    accepted_output_modes: Sequence[str] = ()
    conversations: int = 10_000
    extensions: Sequence[str] = ()
    bindings: Sequence[str] = ()
    proxy: str | None = None
    trusted_keys: TrustedKeys | None = None
    tls: ssl.SSLContext | None = None
    interceptors: Sequence[Interceptor] = ()

    def __post_init__(self) -> None:
        check_type("RemoteOptions.tls", self.tls, ssl.SSLContext, "an ssl.SSLContext")
        check_fields(self, {"timeout", "connect_timeout", "idle_timeout"})
        check_proxy(self.proxy)
        if self.trusted_keys is not None:
            check_keys(self.trusted_keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCall:
    """A call of a remote agent, as interceptors see it.

    Interceptors may replace the parts, the metadata and the headers.

    Attributes:
        agent: The name of the agent in its `Fleet`, otherwise its URL.
        parts: The message; empty if an earlier task is read.
        context_id: The conversation; "" for a new one.
        task_id: The task that is answered or read; "" for a new one.
        metadata: The metadata of the message, with the chosen skill as `skill_id`.
        headers: Headers of the requests, see `SendOptions`.
    """

    agent: str
    parts: Sequence[Part] = ()
    context_id: str = ""
    task_id: str = ""
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


class Interceptor:
    """Base class for code that runs before and after calls; see `RemoteOptions.interceptors`.

    It is shared by all calls, conversations and event loops. An exception ends the call.
    """

    async def before(self, call: RemoteCall) -> RemoteCall:
        """Return the call to make, before a message is sent."""
        return call

    async def after(self, call: RemoteCall, reply: AgentReply) -> AgentReply:  # noqa: ARG002
        """Return the reply that the caller gets.

        Tasks that failed raise `RemoteTaskError` instead. Text that was streamed before stays.
        """
        return reply


class AgentOptions(TypedDict, total=False):
    """Options of classes that take an agent's URL; None means the default.

    Attributes:
        timeout: Maximum time for an answer in seconds, as `RemoteOptions.timeout`.
        max_retries: Maximum number of retries, as `RemoteOptions.retries`.
        headers: Headers of every request, as with `HeadersAuth`.
    """

    timeout: float | None
    max_retries: int | None
    headers: Mapping[str, str] | None


class SendOptions(TypedDict, total=False):
    """Options of one message.

    Attributes:
        metadata: Metadata of the message.
        skill: The id of one of the card's skills, to choose it; sent as metadata `skill_id`.
        timeout: Maximum time for the answer in seconds, in place of `RemoteOptions.timeout`.
        headers: Headers of the message's requests, for servers that get the credentials. They
            replace headers of the same name.
        message_id: The id of the message, by default a new one. Agents that recognise duplicates
            run a message that is sent again under its id only once.
    """

    metadata: Mapping[str, JSON] | None
    skill: str | None
    timeout: float | None
    headers: Mapping[str, str] | None
    message_id: str


class PushReceiver(Protocol):
    """Receives push notifications of tasks, such as `a2a_adapters_webhooks.WebhookReceiver`."""

    def push_config(self) -> TaskPushNotificationConfig:
        """Return where and how an agent notifies of one task, with a token for this task only."""

    async def bind(self, config: TaskPushNotificationConfig, agent: str, task_id: str) -> None:
        """Accept notifications with the token of `config` for this task of this agent only.

        Args:
            config: The configuration that was sent to the agent.
            agent: The address at which the agent was called.
            task_id: The task that the agent has begun; "" if it answered with a message.
        """

    def watch(self, agent: str, task_id: str) -> Callable[[], Awaitable[None]]:
        """Return a function that waits for a notification that arrived after its previous call.

        It returns after some time without one, because notifications can be lost.
        """


def checked_timeout(timeout: float) -> float:
    """Return `timeout`, or raise `ConfigurationError` if it is not a positive number."""
    check_arguments(checked_timeout, locals(), {"timeout"})
    return timeout
