"""Proxies that cut the streams of silent agents."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import grpc.aio
import pytest
from a2a.types import a2a_pb2_grpc

from a2a_adapters import AgentReply, RemoteAgent, ServerOptions, build_app
from a2a_adapters.protocol import states
from a2a_adapters.testing import running, user_message
from tests.calling.nginx import nginx
from tests.support.grpc_agents import card_of
from tests.support.requests import Agent, grpc_port

PINGS = 4
"""More pings than gRPC servers accept by default: they close the connection at the third."""


@pytest.mark.parametrize(
    ("binding", "version"),
    [("GRPC", "1.0"), ("GRPC", "0.3"), ("JSONRPC", "1.0"), ("HTTP+JSON", "1.0")],
)
async def test_a_stream_that_a_proxy_cuts_loses_nothing(tmp_path, binding, version):
    target, is_grpc = Agent(), binding == "GRPC"
    app = build_app(target, options=ServerOptions(grpc_port=0))
    async with running(app) as url:
        upstream = grpc_port(app) if is_grpc else urlsplit(url).port
        async with nginx(tmp_path, upstream, "1s", is_grpc=is_grpc) as proxy:
            address = f"{'' if is_grpc else 'http://'}127.0.0.1:{proxy.port}"
            async with RemoteAgent(card_of(address, version, binding)) as agent:
                events = agent.stream("wait")
                assert (await anext(events)).text == "begun "
                rest = asyncio.ensure_future(anext(events))
                async with asyncio.timeout(30):
                    for _ in range(2):
                        await proxy.cut()
                target.release.set()
                assert (await rest).text == "done"
                reply = await anext(events)
                assert isinstance(reply, AgentReply)
                assert (reply.text, reply.state) == ("begun done", "completed")


class Relay:
    """Connects a client to a server and counts the pings of both (RFC 9113, section 6.7)."""

    def __init__(self, port):
        self._port = port
        self._pings = {"client": 0, "server": 0}
        self._news = asyncio.Condition()

    async def join(self, reader, writer):
        answers, out = await asyncio.open_connection("127.0.0.1", self._port)
        out.write(await reader.readexactly(len(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")))
        await asyncio.gather(
            self._pass(reader, out, "client"), self._pass(answers, writer, "server")
        )

    async def _pass(self, reader, writer, sender):
        try:
            while True:
                head = await reader.readexactly(9)
                writer.write(head + await reader.readexactly(int.from_bytes(head[:3])))
                if head[3] == 6 and not head[4] & 1:
                    async with self._news:
                        self._pings[sender] += 1
                        self._news.notify_all()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def wait_for_pings(self):
        async with self._news:
            await self._news.wait_for(lambda: min(self._pings.values()) >= PINGS)


async def test_servers_keep_silent_streams_alive_and_let_clients_do_so(monkeypatch):
    monkeypatch.setattr("a2a_adapters_grpc.serving.server.KEEPALIVE_SECONDS", 0.1)
    target = Agent()
    app = build_app(target, options=ServerOptions(grpc_port=0))
    async with running(app):
        relay = Relay(grpc_port(app))
        server = await asyncio.start_server(relay.join, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        keepalive = [("grpc.keepalive_time_ms", 100), ("grpc.http2.max_pings_without_data", 0)]
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", keepalive) as channel:
            stub = a2a_pb2_grpc.A2AServiceStub(channel)
            request = user_message("wait")
            events = aiter(stub.SendStreamingMessage(request, metadata=[("a2a-version", "1.0")]))
            await anext(events)
            async with asyncio.timeout(30):
                await relay.wait_for_pings()
            target.release.set()
            *_, last = [event async for event in events]
        assert last.status_update.status.state == states.COMPLETED
        server.close()
