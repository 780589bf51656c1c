"""Files that callers send as URLs."""

from __future__ import annotations

import pytest

from a2a_adapters import (
    File,
    InputRequired,
    InvalidInputError,
    Limits,
    OutboundPolicy,
    RemoteAgent,
    RemoteRefusedError,
    ServerOptions,
    TextDelta,
    build_app,
)
from a2a_adapters.plugin import Adapter, AgentDescription
from a2a_adapters.testing import running
from tests.support.far_files import pictures, show

HERE = OutboundPolicy(allow_private=True)
NOT_FETCHED = "cannot be fetched"


class Viewer(Adapter):
    """Describes the received files; asks for more first on request."""

    uses_history = True

    def __init__(self, fetch=HERE, *, asks=False):
        self.fetch = fetch
        self.asks = asks
        self.seen = []

    def describe(self):
        return AgentDescription(name="viewer", description="Looks.", input_modes=("*/*",))

    async def stream(self, request):
        if self.asks:
            request = yield InputRequired("What?")
        self.seen.append(request)
        yield TextDelta("seen")


def files(request):
    return [part for part in request.parts if isinstance(part, File)]


async def test_an_adapter_gets_the_bytes():
    viewer = Viewer()
    async with pictures(b"PNG") as server:
        named = File(url=f"{server.url}/b", media_type="x/y", filename="c")
        await show(viewer, server.file(), named)
    assert files(viewer.seen[0]) == [
        File(content=b"PNG", media_type="image/png", filename="a.png"),
        File(content=b"PNG", media_type="x/y", filename="c"),
    ]


async def test_fetched_files_are_kept_in_the_history():
    viewer = Viewer()
    async with (
        pictures(b"PNG") as server,
        running(build_app(viewer)) as url,
        RemoteAgent(url) as agent,
    ):
        talk = agent.conversation()
        await talk.send([server.file()])
        await talk.send("and now?")
        assert server.asked == 1
    assert files(viewer.seen[1].history[0])[0].content == b"PNG"


async def test_an_answer_to_a_question_may_have_a_file_url():
    viewer = Viewer(asks=True)
    async with (
        pictures(b"PNG") as server,
        running(build_app(viewer)) as url,
        RemoteAgent(url) as agent,
    ):
        talk = agent.conversation()
        assert (await talk.send("look")).state == "input-required"
        await talk.send([server.file()])
    assert files(viewer.seen[0])[0].content == b"PNG"


@pytest.mark.parametrize("name", ["moved.png", "packed.png"])
async def test_redirects_and_compressed_files_are_refused(name):
    viewer = Viewer()
    async with pictures(b"PNG") as server:
        with pytest.raises(RemoteRefusedError, match=NOT_FETCHED) as refusal:
            await show(viewer, server.file(name))
        assert server.asked == 1
    assert refusal.value.code == -32602
    assert not viewer.seen


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "gs://bucket/a", "http://169.254.169.254/latest", "http://a..b/", "x"],
)
async def test_forbidden_addresses_are_refused_without_revealing_the_reason(url, caplog):
    with pytest.raises(RemoteRefusedError) as refusal:
        await show(Viewer(), File(url=url))
    assert NOT_FETCHED in str(refusal.value)
    assert "169.254" not in str(refusal.value)
    assert "was not fetched" in caplog.text


async def test_the_default_policy_fetches_nothing_from_this_machine():
    async with pictures(b"PNG") as server:
        with pytest.raises(RemoteRefusedError, match=NOT_FETCHED):
            await show(Viewer(OutboundPolicy()), server.file())
        assert server.asked == 0


@pytest.mark.parametrize("limits", [Limits(part_bytes=2000), Limits(body_bytes=2500)])
async def test_the_sizes_of_a_file_and_of_all_files_are_limited(limits):
    options = ServerOptions(limits=limits)
    async with (
        pictures(b"x" * 1500) as server,
        running(build_app(Viewer(), options=options)) as url,
        RemoteAgent(url) as agent,
    ):
        await agent.send([server.file()])
        server.picture = b"x" * 2001
        with pytest.raises(RemoteRefusedError, match="too large"):
            await agent.send([server.file(), server.file()])


def test_the_bytes_of_an_unfetched_file_are_refused():
    assert File(content=b"x").received() == b"x"
    with pytest.raises(InvalidInputError, match="by their bytes"):
        File(url="https://x.example/a").received()
