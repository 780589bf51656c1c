"""The slow agent of `tests.calling.slow_agents` on servers that send push notifications."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import httpx
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import (
    BasePushNotificationSender,
    InMemoryPushNotificationConfigStore,
    InMemoryTaskStore,
)
from a2a_adapters_webhooks import WebhookReceiver
from starlette.applications import Starlette

from a2a_adapters import OutboundPolicy, PushOptions, RemoteAgent
from a2a_adapters.testing import running
from tests.calling.slow_agents import Gate, only, our_agent, slow_executor
from tests.support.servers.cards import agent_card, card_route

SENDERS = ["ours", "ours over 0.3", "a2a-sdk"]
SECRET = "only for these tests"
PUSH = PushOptions(outbound=OutboundPolicy(allow_private=True), pause_seconds=0.01)


def sdk_app(gate, http):
    def card(url):
        built = agent_card(url)
        built.capabilities.push_notifications = True
        return built

    configs = InMemoryPushNotificationConfigStore()
    handler = DefaultRequestHandler(
        slow_executor(gate),
        InMemoryTaskStore(),
        card("http://127.0.0.1"),
        push_config_store=configs,
        push_sender=BasePushNotificationSender(http, configs),
    )

    @asynccontextmanager
    async def lifespan(_):
        yield
        await handler.aclose()

    routes = [card_route(card), *create_jsonrpc_routes(handler, "/")]
    return Starlette(routes=routes, lifespan=lifespan)


@asynccontextmanager
async def sender(name):
    """Yield the card of an agent that sends push notifications, and its gate."""
    gate = Gate()
    async with httpx.AsyncClient() as http:
        app = our_agent(gate, push=PUSH) if name.startswith("ours") else sdk_app(gate, http)
        async with running(app) as url:
            async with RemoteAgent(url) as agent:
                card = await agent.card()
            try:
                yield only(card, "JSONRPC", "0.3" if name.endswith("0.3") else "1.0"), gate
            finally:
                gate.open()


class Observed(WebhookReceiver):
    """A receiver that records its notifications, and shows that a task waits for one."""

    def __init__(self, **options):
        super().__init__("http://unknown", secret=SECRET, poll_seconds=3600, **options)
        self.is_awaited = asyncio.Event()
        self.heard = []
        self._news = asyncio.Condition()
        self.handler(self._hear)

    def watch(self, agent, task_id):
        wait = super().watch(agent, task_id)

        async def waiting():
            self.is_awaited.set()
            await wait()

        return waiting

    async def _hear(self, notification):
        async with self._news:
            self.heard.append(notification)
            self._news.notify_all()

    async def until_state(self, state):
        async with self._news:
            await self._news.wait_for(lambda: self.heard and self.heard[-1].reply.state == state)


@asynccontextmanager
async def receiver(**options):
    """Yield a receiver that is served, and the notifications that it hands on."""
    hook = Observed(**options)
    async with running(hook) as url:
        hook.url = f"{url}/hook"
        yield hook, hook.heard
