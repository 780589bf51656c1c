"""Files, images and data in both directions, and stop sequences."""

from __future__ import annotations

import asyncio
import base64
import json
import threading

import pytest
from a2a_adapters_langchain import A2ALLM, A2AChatModel
from langchain_core.messages import AIMessage, HumanMessage

from a2a_adapters import Data, File, Output, Text
from a2a_adapters.testing import running
from tests.plugins.langchain.calling.support import PNG, Memory, data_only, files
from tests.support.servers import FOREIGN_AGENTS

PICTURE = base64.b64encode(PNG).decode()


def as_image(extra=()):
    return {"type": "image", "base64": PICTURE, "mime_type": "image/png", **dict(extra)}


async def whole(chunks):
    parts = [chunk async for chunk in chunks]
    return sum(parts[1:], parts[0])


async def test_files_are_sent_and_received(serve):
    model = A2AChatModel(agent=serve(files))
    message = HumanMessage(
        [
            {"type": "text", "text": "Look"},
            as_image({"extras": {"filename": "in.png"}}),
            {"type": "file", "url": "https://files.example/b.pdf", "mime_type": "application/pdf"},
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
            {"type": "text-plain", "text": "notes", "mime_type": "text/plain"},
            {"type": "non_standard", "value": {"n": 2}},
        ]
    )
    said = [model.invoke([message]), await model.ainvoke([message])]
    said += [await whole(model.astream([message]))]
    expected = (
        "Look; image/png in.png 8; application/pdf  https://files.example/b.pdf; "
        "image/png  8; text/plain  5; {'n': 2}"
    )
    for answer in said:
        assert answer.text == expected
        _, image, pdf, data = answer.content_blocks
        assert image["base64"] == PICTURE
        assert image["extras"] == {"filename": "dot.png"}
        assert pdf["type"] == "file"
        assert pdf["url"] == "https://files.example/a.pdf"
        assert data["value"] == {"type": "data", "data": {"n": 1}}


async def test_answers_with_files_can_be_sent_again(serve):
    memory = Memory()
    answer = await A2AChatModel(agent=serve(files)).ainvoke("hello")
    other = A2AChatModel(agent=serve(memory.answer))
    await other.ainvoke([HumanMessage("hello"), answer, HumanMessage("And you?")])
    text, image, pdf, data, last = memory.requests[0].parts[1:]
    assert memory.requests[0].parts[0] == Text("User: hello")
    assert text == Text("Assistant: hello")
    assert isinstance(image, File)
    assert image.content == PNG
    assert isinstance(pdf, File)
    assert data == Data({"n": 1})
    assert last == Text("User: And you?")


async def test_data_without_text_is_text_too(serve):
    url = serve(data_only)
    model = A2AChatModel(agent=url)
    for said in (await model.ainvoke("go"), model.invoke("go"), await whole(model.astream("go"))):
        assert [json.loads(line) for line in said.text.splitlines()] == [{"city": "Rome"}, [1, 2]]
        values = [block["value"]["data"] for block in said.content_blocks[1:]]
        assert values == [{"city": "Rome"}, [1, 2]]
    llm = A2ALLM(agent=url)
    assert llm.invoke("go") == '{"city":"Rome"}\n[1,2]'
    assert "".join(llm.stream("go")) == '{"city":"Rome"}\n[1,2]'


@pytest.mark.parametrize(
    "value", [{"type": "image", "url": "x"}, {"type": "text", "text": "x"}, [1], "x", 5, None, {}]
)
async def test_data_is_returned_unchanged(serve, value):
    async def agent(request):
        yield Output([part for part in request.parts if isinstance(part, Data)])

    model = A2AChatModel(agent=serve(agent))
    block = {"type": "non_standard", "value": {"type": "data", "data": value}}
    said = await model.ainvoke([HumanMessage([block])])
    assert said.content_blocks[1:] == [block]
    again = await model.ainvoke([HumanMessage(said.content_blocks[1:])])
    assert again.content == said.content


async def test_parts_of_third_party_agents():
    async with running(FOREIGN_AGENTS["mixed_parts"]()) as url:
        said = await A2AChatModel(agent=url).ainvoke("ping")
    assert said.text == "pong: ping"
    assert len(said.content_blocks) > 1


def test_unsupported_content_is_refused(serve):
    model = A2AChatModel(agent=serve(files))
    with pytest.raises(ValueError, match="by an id only"):
        model.invoke([HumanMessage([{"type": "file", "file_id": "file-1"}])])
    thoughts = AIMessage([{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "x"}])
    assert model.invoke([thoughts]).text == "Assistant: x"


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        (None, "alpha STOPbeta gamma"),
        ([], "alpha STOPbeta gamma"),
        ([""], "alpha STOPbeta gamma"),
        (["STOP"], "alpha "),
        (["TOPb"], "alpha S"),
        (["gamma", "beta"], "alpha STOP"),
        (["STOPgap"], "alpha STOPbeta gamma"),
        (["gammaX", "gamma "], "alpha STOPbeta gamma"),
        (["a"], ""),
        (["al", "alpha"], ""),
    ],
)
async def test_stop_sequences(serve, stop, expected):
    async def agent(request):
        for piece in ("alpha S", "T", "OP", "beta gam", "ma"):
            yield piece

    url = serve(agent)
    model, llm = A2AChatModel(agent=url), A2ALLM(agent=url)
    assert model.invoke("go", stop=stop).text == expected
    assert (await model.ainvoke("go", stop=stop)).text == expected
    assert "".join(c.text for c in model.stream("go", stop=stop)) == expected
    assert "".join([c.text async for c in model.astream("go", stop=stop)]) == expected
    assert model.bind(stop=stop).invoke("go").text == expected
    assert llm.invoke("go", stop=stop) == expected
    assert await llm.ainvoke("go", stop=stop) == expected
    assert "".join(llm.stream("go", stop=stop)) == expected
    assert "".join([c async for c in llm.astream("go", stop=stop)]) == expected


async def test_stop_sequences_cancel_the_task(serve):
    ended = threading.Event()

    async def agent(request):
        try:
            yield "one STOP two"
            await asyncio.Event().wait()
        finally:
            ended.set()

    model = A2AChatModel(agent=serve(agent))
    assert "".join([c.text async for c in model.astream("go", stop=["STOP"])]) == "one "
    assert ended.wait(60)
    ended.clear()
    assert "".join(c.text for c in model.stream("go", stop=["STOP"])) == "one "
    assert ended.wait(60)


async def test_answers_cut_by_a_stop_sequence_are_sent_with_the_next_message(serve):
    texts = []

    async def agent(request):
        texts.append(request.text)
        yield "one STOP two"

    model = A2AChatModel(agent=serve(agent))
    config = {"configurable": {"thread_id": "t"}}
    cut = await whole(model.astream("go", config, stop=["STOP"]))
    await model.ainvoke([HumanMessage("go"), cut, HumanMessage("on")], config)
    assert texts[1] == "User: go\nAssistant: one \nUser: on"
