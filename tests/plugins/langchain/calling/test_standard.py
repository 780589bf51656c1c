"""LangChain's standard tests of chat models and tools (langchain-tests) with a served agent."""

from __future__ import annotations

import httpx
import pytest
from a2a_adapters_langchain import A2AChatModel, A2ATool
from langchain_tests.integration_tests import ChatModelIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests, ToolsUnitTests

from a2a_adapters import RemoteAgent, TaskMetadata, build_app
from tests.plugins.langchain.calling.support import PNG, USAGE, served


async def standard(request):
    """Answer the questions of the standard tests in several chunks, or with a joke."""
    if "JSON schema" in request.text:
        yield {"setup": "Why do cats purr?", "punchline": "They are on standby."}
        return
    for word in ["Hello,", "I", "was", "born", "in", "Brooklyn."]:
        yield f"{word} "
    yield TaskMetadata({"usage": USAGE})


@pytest.fixture(scope="module", autouse=True)
def agent():
    with served(build_app(standard, name="Standard")) as url:
        Served.agent = RemoteAgent(url)
        yield
        Served.agent.close()


@pytest.fixture
def files_of_the_web(monkeypatch):
    """Provide the data that the tests would download."""
    monkeypatch.setenv("LANGCHAIN_TESTS_USER_AGENT", "none")
    monkeypatch.setattr(httpx, "get", lambda *_, **__: httpx.Response(200, content=PNG))


class Served:
    """Provides the agent to the tests, which read it from properties of their class."""

    agent: RemoteAgent


class _ChatModel:
    chat_model_class = A2AChatModel
    has_tool_calling = False  # an agent chooses among its own tools
    has_structured_output = True
    supports_image_inputs = True
    supports_image_urls = True
    supports_pdf_inputs = True
    supports_audio_inputs = True

    @property
    def chat_model_params(self):
        return {"agent": Served.agent.name}


class TestChatModelUnit(_ChatModel, ChatModelUnitTests):
    pass


@pytest.mark.usefixtures("files_of_the_web")
class TestChatModelIntegration(_ChatModel, ChatModelIntegrationTests):
    pass


class _Tool:
    tool_constructor = A2ATool
    tool_invoke_params_example = {"message": "Where were you born?"}  # noqa: RUF012

    @property
    def tool_constructor_params(self):
        return {"agent": Served.agent, "name": "standard", "description": "Knows things."}


class TestToolUnit(_Tool, ToolsUnitTests):
    pass


class TestToolIntegration(_Tool, ToolsIntegrationTests):
    pass
