"""A user's program with the frameworks of the main environment, for type checkers."""

from __future__ import annotations

from a2a_adapters_autogen import A2AAgent, A2AChatCompletionClient
from a2a_adapters_autogen import A2ATool as AutoGenTool
from a2a_adapters_langchain import A2ALLM, A2AChatModel, A2ARunnable, A2ATool, A2AToolkit
from a2a_adapters_openai_agents import A2AModel, a2a_tool
from a2a_adapters_pydantic_ai import A2AModel as PydanticModel
from a2a_adapters_pydantic_ai import A2AToolset
from agents import Agent as OpenAIAgent
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langgraph.graph import MessagesState, StateGraph
from pydantic_ai import Agent as PydanticAgent

from a2a_adapters import (
    AgentReply,
    AgentRequest,
    Asking,
    BearerTokens,
    Fleet,
    InputRequired,
    Limits,
    RemoteAgent,
    RemoteOptions,
    ServerOptions,
    build_app,
    serve,
    serve_in_background,
)

URL = "http://127.0.0.1:8000"


async def book(request: AgentRequest) -> Asking:
    """Book a flight."""
    city = yield InputRequired(f"Where to, for {request.text}?")
    yield f"Booked a flight to {city.text}, with {[file.filename for file in request.files]}."
    yield {"data": city.data}


def langchain() -> str:
    """Use a model, an LLM, a runnable and tools."""
    model = A2AChatModel(agent=URL, timeout=5, max_retries=1, headers={"X-Team": "a"})
    chain = ChatPromptTemplate.from_template("Say {text}") | model | StrOutputParser()
    answer: AIMessage = A2AChatModel(agent=RemoteAgent(URL), context_id="c", tags=["t"]).invoke("x")
    llm = PromptTemplate.from_template("Say {text}") | A2ALLM(agent=URL, timeout=5)
    runnable = A2ARunnable(URL)
    tools = [A2ATool.from_agent(URL), A2ATool(agent=URL, name="desk", description="Books.")]
    kit = A2AToolkit(Fleet({"desk": URL, "poet": {"url": URL, "wait": 30}}, prefix="ask_"))
    names = [each.name for each in kit.get_tools()]
    graph = StateGraph(MessagesState)
    print(tools[0].name, names, runnable.invoke("x"), llm.invoke({"text": "x"}), graph)
    return str(chain.invoke({"text": "x"})) + answer.text


async def autogen() -> RoundRobinGroupChat:
    """Use an agent, a model client and a tool in a team."""
    tool = await AutoGenTool.afrom_agent(URL, timeout=5)
    model = A2AChatCompletionClient(URL)
    desk = A2AAgent("desk", URL, description="Books trips.")
    return RoundRobinGroupChat([desk, AssistantAgent("clerk", model_client=model, tools=[tool])])


async def others() -> None:
    """Use the models and tools of the OpenAI Agents SDK and Pydantic AI."""
    tool = a2a_tool(RemoteAgent(URL), await RemoteAgent(URL).describe())
    OpenAIAgent(name="desk", model=A2AModel(URL), tools=[tool])
    agent = PydanticAgent(PydanticModel(URL), name="desk", toolsets=[A2AToolset(URL)])
    serve(agent)


async def call() -> AgentReply:
    """Call an agent in each way."""
    remote = RemoteAgent(URL, options=RemoteOptions(timeout=5))
    async for event in remote.stream("Ann"):
        print(event)
    conversation = remote.conversation("a key")
    reply = await conversation.send("Ann", metadata={"a": 1}, timeout=5)
    if reply.question:
        reply = conversation.send_sync("Rome")
    print(reply.text, reply.state, reply.data, [file.name for file in reply.files])
    return reply


app = build_app(
    {"book": book},
    options=ServerOptions(
        authentication=BearerTokens({"ann": "secret"}), limits=Limits(run_seconds=30)
    ),
)

with serve_in_background(book, name="Desk") as desk:
    print(RemoteAgent(desk.url).describe_sync().name)
