"""Resources and prompts: those of MCP servers as files and skills, artifacts as resources."""

from __future__ import annotations

import json

import pytest
from a2a_adapters_mcp import McpServer
from mcp import McpError

from a2a_adapters import Data, RemoteAgent, RemoteAgentError, build_app
from a2a_adapters.testing import running
from tests.plugins.mcp.support import SERVER, TOKENS, as_bearer, offered, over_http
from tests.support.warm import warm


@pytest.fixture
async def toolbox():
    async with (
        running(build_app(McpServer(warm(SERVER), shared=True))) as url,
        RemoteAgent(url) as agent,
    ):
        yield agent


async def test_resources_and_prompts_are_skills(toolbox):
    skills = {skill.id: skill for skill in (await toolbox.card()).skills}
    assert "demo://notes/first" in skills["resources"].description
    assert "demo://numbers/{number}" in skills["resources"].description
    assert skills["prompt:greet"].description == "Greets a person."
    [example] = skills["prompt:greet"].examples
    assert json.loads(example) == {
        "prompt": "greet",
        "arguments": {"name": "<string>", "language": "<string>"},
    }


async def test_a_resource_is_a_file(toolbox):
    [notes] = (await toolbox.send(Data({"resource": "demo://notes/first"}))).files
    assert (notes.content, notes.media_type, notes.filename) == (
        b"# Notes",
        "text/markdown",
        "first",
    )
    [seven] = (await toolbox.send(Data({"resource": "demo://numbers/7"}))).files
    assert seven.content == b"\x07"


async def test_a_link_to_a_resource_is_its_file(toolbox):
    arguments = {"uri": "demo://notes/first", "times": 2}
    reply = await toolbox.send(Data({"tool": "link", "arguments": arguments}))
    assert [(file.content, file.filename) for file in reply.files] == [(b"# Notes", "notes.md")] * 2


async def test_a_broken_link_stays_a_link(toolbox):
    arguments = {"uri": "demo://nothing", "times": 1}
    reply = await toolbox.send(Data({"tool": "link", "arguments": arguments}))
    assert reply.data[0]["uri"] == "demo://nothing"


async def test_a_prompts_text_is_the_message(toolbox):
    greet = {"prompt": "greet", "arguments": {"name": "Ann"}}
    assert (await toolbox.send(Data(greet))).text == "Greet Ann in English."
    practise = await toolbox.send(Data({"prompt": "practise"}))
    assert practise.text == "user: Hello?\n\nassistant: Good day!"


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"resource": "demo://nothing"}, "demo://nothing"),
        ({"resource": "no address"}, "resource"),
        ({"prompt": "nothing"}, "unknown prompt 'nothing'; the prompts are greet, practise"),
        ({"prompt": "greet", "arguments": {"name": 1}}, "object of strings"),
        ({"prompt": "greet"}, "name"),
    ],
)
async def test_unknown_names_are_refused(toolbox, message, error):
    with pytest.raises(RemoteAgentError, match=error):
        await toolbox.send(Data(message))


async def test_artifacts_are_resources_of_the_session_they_were_made_in():
    sent = {"name": "a b.md", "media_type": "text/markdown", "base64": "YWJj"}
    async with offered() as url, over_http(url) as ann, over_http(url) as bob:
        drawn = await ann.call_tool("draw", {"message": "go", "files": [sent]})
        await ann.call_tool("weather", {"message": "Oslo"})
        [answer, file, sky] = (await ann.list_resources()).resources
        assert (file.name, file.mimeType) == ("a b.md", "text/markdown")
        assert file.uri == drawn.content[1].resource.uri
        [text] = (await ann.read_resource(file.uri)).contents
        assert (text.text, text.mimeType) == ("abc", "text/markdown")
        [said] = (await ann.read_resource(answer.uri)).contents
        assert said.text == "1 files"
        [weather] = (await ann.read_resource(sky.uri)).contents
        assert json.loads(weather.text) == {"city": "Oslo", "degrees": 21}
        assert (await bob.list_resources()).resources == []


async def test_artifacts_are_visible_to_their_caller_only():
    sent = {"name": "a.bin", "base64": "YWJj"}
    async with (
        offered(options=TOKENS) as url,
        over_http(url, headers=as_bearer("ann")) as ann,
        over_http(url, headers=as_bearer("bob")) as bob,
    ):
        drawn = await ann.call_tool("draw", {"message": "go", "files": [sent]})
        uri = drawn.content[1].resource.uri
        [blob] = (await ann.read_resource(uri)).contents
        assert blob.blob == "YWJj"
        with pytest.raises(McpError, match="Resource not found"):
            await bob.read_resource(uri)
