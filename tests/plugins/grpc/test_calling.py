"""`RemoteAgent` over gRPC."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import grpc
import grpc.aio
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from a2a_adapters import (
    AgentReply,
    BearerAuth,
    BearerTokens,
    ConfigurationError,
    Limits,
    MissingExtraError,
    OutboundPolicy,
    Progress,
    RemoteAgent,
    RemoteAnswerError,
    RemoteAuthError,
    RemoteConnectionError,
    RemoteOptions,
    RemoteRefusedError,
    RemoteTaskError,
    RemoteTimeoutError,
    ServerOptions,
    TextDelta,
    build_app,
)
from a2a_adapters.plugin import Plugins
from a2a_adapters.testing import running
from tests.support.grpc_agents import ONCE, card_of, grpc_agent, offering
from tests.support.requests import Agent, grpc_port

TRUSTING = replace(ONCE, trusted_hosts=["127.0.0.1"])
VERSIONS = pytest.mark.parametrize("version", ["1.0", "0.3"])


@VERSIONS
@pytest.mark.parametrize("address", ["127.0.0.1:{}", "http://127.0.0.1:{}", "dns:///127.0.0.1:{}"])
async def test_send_returns_the_answer(version, address):
    async with grpc_agent(version=version, address=address) as agent:
        reply = await agent.send("hello")
        assert (reply.text, reply.state) == ("hello ", "completed")
        assert (await agent.get_task(reply.task_id)).text == "hello "


@VERSIONS
async def test_stream_yields_deltas_then_the_reply(version):
    target = Agent()
    async with grpc_agent(target, version=version) as agent:
        text = ""
        async for event in agent.stream("wait"):
            if isinstance(event, TextDelta):
                text += event.text
                target.release.set()
            else:
                assert isinstance(event, AgentReply)
                assert event.text == text == "begun done"


@VERSIONS
async def test_a_question_is_returned_and_can_be_answered(version):
    async with grpc_agent(version=version) as agent:
        conversation = agent.conversation()
        question = await conversation.send("ask")
        assert (question.question, question.state) == ("what?", "input-required")
        answer = await conversation.send("this")
        assert answer.task_id == question.task_id
        assert answer.text.startswith("this")


@VERSIONS
async def test_leaving_cancels_the_task(version):
    left = asyncio.Event()

    async def work(_text):
        """Work."""
        yield "begun"
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    async with grpc_agent(work, version=version) as agent:
        events = agent.stream("go")
        assert (await anext(events)) == TextDelta("begun")
        await events.aclose()
        async with asyncio.timeout(60):
            await left.wait()


@VERSIONS
async def test_errors_map_to_their_classes_and_codes(version):
    async with grpc_agent(version=version) as agent:
        with pytest.raises(RemoteRefusedError, match="say something else") as refused:
            await agent.send("refuse")
        assert refused.value.code == -32602
        with pytest.raises(RemoteRefusedError) as unknown:
            await agent.get_task("none")
        assert unknown.value.code == -32001
        with pytest.raises(RemoteTaskError) as failed:
            await agent.send("fail")
        assert failed.value.state == "failed"
        done = await agent.send("hello")
        with pytest.raises(RemoteRefusedError) as over:
            await agent.cancel(done.task_id)
        assert over.value.code == -32002


@VERSIONS
async def test_credentials_are_sent_and_required(version):
    tokens = BearerTokens({"right": "ann"})
    for token in ("right", "wrong", ""):
        auth = BearerAuth(lambda token=token: token) if token else None
        async with grpc_agent(
            version=version, auth=auth, remote=TRUSTING, authentication=tokens
        ) as agent:
            if token == "right":
                assert (await agent.send("hello")).text == "hello "
            else:
                with pytest.raises(RemoteAuthError, match="UNAUTHENTICATED"):
                    await agent.send("hello")


@pytest.fixture
def certificate(monkeypatch, tmp_path):
    """Serve gRPC with TLS as localhost; return the path of the certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "agent")])
    begun = datetime.now(UTC) - timedelta(hours=1)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, begun, begun + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
        .public_bytes(Encoding.PEM)
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    credentials = grpc.ssl_server_credentials([(private, made)])
    monkeypatch.setattr(
        "grpc.aio._server.Server.add_insecure_port",
        lambda server, address: server.add_secure_port(address, credentials),
    )
    path = tmp_path / "certificate.pem"
    path.write_bytes(made)
    return path


TOKENS = BearerTokens({"right": "ann"})


async def test_tls_sends_credentials_to_the_host_of_the_certificate(monkeypatch, certificate):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    app = build_app(Agent(), options=ServerOptions(grpc_port=0, authentication=TOKENS))
    async with running(app):
        card = card_of(f"https://localhost:{grpc_port(app)}")
        async with RemoteAgent(card, auth=BearerAuth("right"), options=ONCE) as agent:
            assert (await agent.send("hello")).text == "hello "


@pytest.mark.usefixtures("certificate")
async def test_tls_with_an_unknown_certificate_fails():
    app = build_app(Agent(), options=ServerOptions(grpc_port=0))
    async with running(app):
        card = card_of(f"https://localhost:{grpc_port(app)}")
        async with RemoteAgent(card, options=ONCE) as agent:
            with pytest.raises(RemoteConnectionError):
                await agent.send("hello")


@pytest.mark.parametrize("host", ["localhost", "agents.invalid"])
async def test_tls_to_a_checked_address_verifies_the_host_name(monkeypatch, certificate, host):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    policy = OutboundPolicy(https_only=True, allow_private=True, resolver=elsewhere)
    remote = RemoteOptions(retries=0, outbound=policy)
    async with grpc_agent(address=f"https://{host}:{{}}", remote=remote) as agent:
        if host == "localhost":
            assert (await agent.send("hello")).text == "hello "
        else:
            with pytest.raises(RemoteConnectionError):
                await agent.send("hello")


async def elsewhere(_host, _port):
    return ["127.0.0.1"]


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_credentials_go_to_trusted_hosts_only(is_trusted):
    remote = RemoteOptions(
        retries=0,
        outbound=OutboundPolicy(allow_private=True, resolver=elsewhere),
        trusted_hosts=["localhost"] if is_trusted else (),
    )
    tokens = BearerTokens({"right": "ann"})
    async with grpc_agent(
        address="localhost:{}", auth=BearerAuth("right"), remote=remote, authentication=tokens
    ) as agent:
        if is_trusted:
            assert (await agent.send("hello")).text == "hello "
        else:
            with pytest.raises(RemoteAuthError):
                await agent.send("hello")


async def test_only_the_addresses_that_the_policy_checked_are_used():
    """The system's resolver does not know the name, so only the policy's can have resolved it."""
    policy = OutboundPolicy(allow_private=True, resolver=elsewhere)
    remote = RemoteOptions(retries=0, outbound=policy)
    async with grpc_agent(address="agents.invalid:{}", remote=remote) as agent:
        assert (await agent.send("hello")).text == "hello "


@pytest.mark.parametrize(
    "address", ["10.0.0.7:{}", "http://10.0.0.7:{}", "169.254.169.254:80", "[fd00::7]:{}"]
)
async def test_forbidden_addresses_in_a_card_are_refused(address):
    async with grpc_agent(address=address) as agent:
        with pytest.raises(RemoteConnectionError, match="forbidden"):
            await agent.send("hello")


@pytest.mark.parametrize("address", ["", "ftp://127.0.0.1:1", "http://", "127.0.0.1:port"])
async def test_invalid_addresses_in_a_card_are_refused(address):
    async with grpc_agent(address=address) as agent:
        with pytest.raises(RemoteAnswerError, match="card"):
            await agent.send("hello")


@VERSIONS
async def test_answer_size_is_limited(version):
    remote = RemoteOptions(retries=0, answer_bytes=5_000)
    async with grpc_agent(version=version, remote=remote) as agent:
        assert (await agent.send("x" * 500)).text
        with pytest.raises(RemoteAnswerError):
            await agent.send("x" * 6_000)


async def drip(_text):
    """Say a little very often."""
    for _ in range(1000):
        yield "x" * 100


async def test_total_size_of_a_stream_is_limited():
    remote = RemoteOptions(retries=0, answer_bytes=50_000)
    async with grpc_agent(drip, remote=remote) as agent:
        with pytest.raises(RemoteAnswerError, match="over 50,000 bytes"):
            await agent.send("go")


async def test_a_slow_answer_times_out():
    async with grpc_agent(remote=RemoteOptions(retries=0, timeout=0.5)) as agent:
        with pytest.raises(RemoteTimeoutError):
            await agent.send("wait")


async def test_a_silent_stream_is_resumed():
    target = Agent()
    async with grpc_agent(target, remote=RemoteOptions(idle_timeout=0.5)) as agent:
        events = agent.stream("wait")
        assert (await anext(events)) == TextDelta("begun ")
        rest = asyncio.ensure_future(anext(events))
        await asyncio.wait([rest], timeout=1)
        target.release.set()
        assert (await rest) == TextDelta("done")
        assert (await anext(events)).text == "begun done"


async def test_a_busy_agent_is_retried():
    target = Agent()
    limits = Limits(runs=1, queued_runs=0)
    async with grpc_agent(target, remote=RemoteOptions(retries=8), limits=limits) as agent:
        events = agent.stream("wait")
        assert (await anext(events)) == TextDelta("begun ")
        waiting = asyncio.ensure_future(agent.send("hello"))
        await asyncio.wait([waiting], timeout=0.2)
        target.release.set()
        assert [event async for event in events][-1].text == "begun done"
        assert (await waiting).text == "hello "


async def test_an_unreachable_agent():
    async with (
        offering(card_of("127.0.0.1:1")) as url,
        RemoteAgent(url, options=RemoteOptions(retries=1)) as agent,
    ):
        with pytest.raises(RemoteConnectionError, match="cannot be reached"):
            await agent.send("hello")


@VERSIONS
async def test_progress_is_requested_only_if_enabled(version):
    async def work(_text):
        """Work."""
        yield Progress("step")
        yield "done"

    for progress in (True, False):
        remote = RemoteOptions(progress=progress)
        async with grpc_agent(work, version=version, remote=remote) as agent:
            events = [event async for event in agent.stream("go")]
        assert (Progress("step") in events) is progress
        assert events[-1].text == "done"


async def test_a_given_card_is_trusted():
    app = build_app(Agent(), options=ServerOptions(grpc_port=0))
    async with running(app):
        card = card_of(f"localhost:{grpc_port(app)}")
        async with RemoteAgent(card) as agent:
            assert (await agent.send("hello")).text == "hello "


async def test_send_sync_and_other_event_loops():
    app = build_app(Agent(), options=ServerOptions(grpc_port=0))
    async with running(app):
        card = card_of(f"127.0.0.1:{grpc_port(app)}")
        agent = RemoteAgent(card)
        for call in (agent.send_sync, lambda text: asyncio.run(agent.send(text))):
            assert (await asyncio.to_thread(call, "hello")).text == "hello "
        assert (await agent.send("hello")).text == "hello "
        await agent.aclose()


async def test_http_is_preferred(monkeypatch):
    monkeypatch.setitem(sys.modules, "a2a_adapters_grpc.calling.transport", None)
    app = build_app(Agent(), options=ServerOptions(grpc_port=0))
    async with running(app) as url, RemoteAgent(url) as agent:
        assert (await agent.send("hello")).text == "hello "


async def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "a2a_adapters_grpc.calling.transport", None)
    async with offering(card_of("127.0.0.1:1")) as url, RemoteAgent(url) as agent:
        with pytest.raises(MissingExtraError, match=r"a2a-adapters\[grpc\]"):
            await agent.send("hello")


async def test_without_the_plugin(monkeypatch):
    monkeypatch.setattr("a2a_adapters.calling.connection.installed_plugins", Plugins)
    async with RemoteAgent(card_of("127.0.0.1:1")) as agent:
        with pytest.raises(ConfigurationError, match="no plugin calls agents over 'GRPC'"):
            await agent.send("hello")


async def test_other_bindings_are_refused():
    async with (
        offering(card_of("127.0.0.1:1", binding="SMOKE-SIGNALS")) as url,
        RemoteAgent(url) as agent,
    ):
        with pytest.raises(RemoteAnswerError, match=r"SMOKE-SIGNALS.*GRPC"):
            await agent.send("hello")


@asynccontextmanager
async def connect_proxy(port):
    """Run a proxy that connects everything to a local port; yield its URL and what it was asked."""
    asked = []

    async def serve(reader, writer):
        asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
        up, down = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")

        async def copy(source, sink):
            with suppress(ConnectionError):
                while data := await source.read(65536):
                    sink.write(data)
                    await sink.drain()
            sink.close()

        await asyncio.gather(copy(reader, down), copy(up, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", asked


async def behind_proxy(proxy, *, address="agent.example.org:{}", **options):
    """Ask an agent that only the proxy reaches."""
    app = build_app(Agent(), options=ServerOptions(grpc_port=0))
    async with running(app):
        port = grpc_port(app)
        async with (
            connect_proxy(port) as (url, asked),
            offering(card_of(address.format(port))) as at,
        ):
            remote = replace(ONCE, proxy=proxy and proxy.format(url), **options)
            async with RemoteAgent(at, options=remote) as agent:
                return (await agent.send("hello")).text, asked, f"agent.example.org:{port}"


PUBLIC = OutboundPolicy(allowed_hosts=frozenset({"agent.example.org"}))


@pytest.fixture
def _no_proxies(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.usefixtures("_no_proxies")
async def test_calls_go_through_the_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "example.org")  # the option overrides the environment
    text, asked, host = await behind_proxy("http://ann:pass%20word@{}", outbound=PUBLIC)
    assert text == "hello "
    assert f"CONNECT {host} " in asked[0]
    assert "YW5uOnBhc3Mgd29yZA==" in asked[0]


@pytest.mark.usefixtures("_no_proxies")
async def test_the_proxy_of_the_environment_is_used(monkeypatch):
    app = build_app(Agent(), options=ServerOptions(grpc_port=0))
    async with running(app), connect_proxy(grpc_port(app)) as (proxy, asked):
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy}")
        remote = replace(ONCE, outbound=PUBLIC)
        async with (
            offering(card_of("agent.example.org:7")) as url,
            RemoteAgent(url, options=remote) as agent,
        ):
            assert (await agent.send("hello")).text == "hello "
    assert "CONNECT agent.example.org:7 " in asked[0]


@pytest.mark.usefixtures("_no_proxies")
async def test_the_outbound_policy_applies_to_what_a_proxy_is_asked_for():
    with pytest.raises(RemoteConnectionError, match=r"forbidden address.*10\.1\.2\.3"):
        await behind_proxy("http://{}", address="10.1.2.3:{}")


@pytest.mark.usefixtures("_no_proxies")
async def test_proxies_that_cannot_be_used_are_named_without_their_password():
    for scheme in ("https", "socks5"):
        with pytest.raises(ConfigurationError, match="gRPC needs one at http://") as caught:
            await behind_proxy(f"{scheme}://ann:s3cret@{{}}", outbound=PUBLIC)
        assert "s3cret" not in str(caught.value)
    with pytest.raises(RemoteConnectionError, match=r"through the proxy 127\.0\.0\.1:1$") as caught:
        await behind_proxy("http://ann:s3cret@127.0.0.1:1", outbound=PUBLIC)
    assert "s3cret" not in str(caught.value)
