from __future__ import annotations

from io import BytesIO

import pytest
from a2a_adapters_autogen import adapt
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import ChatAgent
from autogen_agentchat.messages import MultiModalMessage, StructuredMessage, TextMessage
from autogen_core import Image
from PIL import Image as Picture
from pydantic import BaseModel

from a2a_adapters import Data, File, InvalidInputError, OutboundPolicy, RemoteRefusedError
from tests.plugins.autogen.support import Custom, agent, ask, model, request, round_robin
from tests.support.far_files import pictures, show


def picture(kind="PNG", size=(2, 1), mode="RGB"):
    content = BytesIO()
    Picture.new(mode, size, "red").save(content, kind)
    return content.getvalue()


class Recorder(Custom):
    """Records its messages."""

    def __init__(self, got):
        super().__init__(lambda _: "ok")
        self._got = got

    async def on_messages(self, messages, cancellation_token):
        self._got += messages
        return await super().on_messages(messages, cancellation_token)


async def messages_for(*parts, **options):
    got = []
    await ask(adapt(lambda: Recorder(got), **options), *parts)
    return got


async def test_text_and_data_are_one_message():
    (message,) = await messages_for("count", Data({"n": 3}))
    assert isinstance(message, TextMessage)
    assert (message.source, message.content) == ("user", 'count\n{"n":3}')


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF"])
async def test_images_become_a_multimodal_message(kind):
    file = File(content=picture(kind), media_type=f"image/{kind.lower()}")
    (message,) = await messages_for("look", file)
    assert isinstance(message, MultiModalMessage)
    assert message.content[0] == "look"
    assert isinstance(message.content[1], Image)


async def test_a_model_with_vision_receives_the_image():
    client = model("nice", vision=True)
    file = File(content=picture(), filename="a.png")
    await ask(adapt(lambda: AssistantAgent("helper", client)), "look", file)
    content = client.create_calls[0]["messages"][-1].content
    assert [type(part).__name__ for part in content] == ["str", "Image"]


@pytest.mark.parametrize("in_team", [False, True])
async def test_images_are_refused_for_a_model_without_vision(in_team):
    def make():
        return round_robin(agent("x")) if in_team else agent("x")

    file = File(content=picture(), media_type="image/png")
    with pytest.raises(InvalidInputError, match="cannot see images"):
        adapt(make).stream(request("look", file))

    async def late() -> ChatAgent:
        return make()

    with pytest.raises(InvalidInputError, match="cannot see images"):
        await ask(adapt(late), "look", file)


@pytest.mark.parametrize(
    ("file", "complaint"),
    [
        (File(content=b"%PDF", media_type="application/pdf"), "not application/pdf"),
        (File(url="https://example.org/a.png", media_type="image/png"), "by their bytes"),
        (File(content=b"%PDF"), "cannot be read"),
        (File(content=picture(size=(90, 90))[:100], media_type="image/png"), "cannot be read"),
        (File(content=picture(size=(10_000, 5_001), mode="1")), "too large"),
    ],
)
def test_other_files_are_refused_before_a_task_exists(file, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        adapt(lambda: Custom(len)).stream(request("look", file))


async def test_an_image_is_fetched_where_the_operator_allows_it():
    seen = []

    def make() -> ChatAgent:
        return Recorder(seen)

    async with pictures(picture()) as server:
        await show(adapt(make, fetch=OutboundPolicy(allow_private=True)), server.file())
        assert isinstance(seen[0].content[1], Image)
        with pytest.raises(RemoteRefusedError, match="cannot be fetched"):
            await show(adapt(make, fetch=OutboundPolicy()), server.file())


@pytest.mark.parametrize("parts", [(), ("",), (" \n",)])
def test_an_empty_message_is_refused(parts):
    with pytest.raises(InvalidInputError, match="empty"):
        adapt(lambda: Custom(len)).stream(request(*parts))


class Order(BaseModel):
    item: str
    count: int


async def test_data_becomes_the_input_type():
    text, order = await messages_for("please", Data({"item": "tea", "count": 2}), input_type=Order)
    assert text.content == "please"
    assert isinstance(order, StructuredMessage)
    assert order.content == Order(item="tea", count=2)
    (order,) = await messages_for(Data({"item": "tea", "count": 2}), input_type=Order)
    assert order.source == "user"


@pytest.mark.parametrize("listed", [None, [StructuredMessage[Order]]])
async def test_a_team_accepts_the_input_type(listed):
    def make():
        inner = round_robin(agent("ok"), custom_message_types=listed, name="inner")
        return round_robin(inner, custom_message_types=listed)

    assert await ask(adapt(make, input_type=Order), Data({"item": "tea", "count": 2}))


@pytest.mark.parametrize(
    ("value", "complaint"), [({"item": "tea"}, "count: Field required"), (3, "Input should")]
)
def test_invalid_data_is_refused_by_field(value, complaint):
    adapter = adapt(lambda: Custom(len), input_type=Order)
    with pytest.raises(InvalidInputError, match=complaint):
        adapter.stream(request(Data(value)))
