"""Isolation of two callers with eight concurrent conversations under equal context ids."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.messages import AIMessage
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph
from openai import AsyncOpenAI

from a2a_adapters import AgentRequest, ServerOptions, build_app
from a2a_adapters.testing import answer_of, as_user, connect, running, user_message
from tests.plugins.ag_ui.served import run
from tests.support.agents.isolation import send
from tests.support.processes import PATIENCE
from tests.support.requests import serving

CONVERSATIONS = 8
TURNS = 3


async def said(messages):
    """Answer with the caller's history, after yielding to others."""
    await asyncio.sleep(0)
    return AIMessage(" ".join(str(m.text) for m in messages if m.type == "human"))


def a_graph():
    async def node(state: MessagesState):
        return {"messages": [await said(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile()


def a_runnable():

    async def answer(value: PromptValue) -> AIMessage:
        return await said(value.to_messages())

    return ChatPromptTemplate([MessagesPlaceholder("messages")]) | RunnableLambda(answer)


def a_function():
    async def answer(request: AgentRequest) -> str:
        await asyncio.sleep(0)
        earlier = [turn.text for turn in request.history if turn.role == "user"]
        return " ".join([*earlier, request.text])

    return answer


async def talk(client, caller, number):
    """Have one conversation; return the last answer."""
    words = [f"{caller}{number}.{turn}" for turn in range(TURNS)]
    for word in words:
        task = await send(client, user_message(word, context_id=f"context {number}"))
    return words, answer_of(task)


@pytest.mark.parametrize("target", [a_graph, a_runnable, a_function])
async def test_callers_are_isolated(target, any_storage):
    options = ServerOptions(storage=any_storage)
    async with (
        running(build_app(target(), options=options)) as url,
        connect(url, user="ann") as ann,
        connect(url, user="bob") as bob,
    ):
        talks = [
            talk(client, caller, number)
            for caller, client in (("ann", ann), ("bob", bob))
            for number in range(CONVERSATIONS)
        ]
        for words, received in await asyncio.gather(*talks):
            assert received == " ".join(words)


async def chat(api, model, caller, number):
    """Send the whole conversation with each message, as clients of Chat Completions do."""
    words = [f"hello {number}", *(f"{caller}{number}.{turn}" for turn in range(1, TURNS))]
    said = []
    for word in words:
        said.append({"role": "user", "content": word})
        completion = await api.chat.completions.create(
            model=model, messages=said, user=f"chat {number}"
        )
        received = completion.choices[0].message.content
        said.append({"role": "assistant", "content": received})
    return words, received


async def respond(api, model, caller, number):
    """Have a conversation under an id that the other caller uses as well."""
    words = [f"{caller}{number}.{turn}" for turn in range(TURNS)]
    for word in words:
        response = await api.responses.create(
            model=model, input=word, conversation=f"conv_{number:032x}"
        )
    return words, response.output_text


@pytest.mark.parametrize("talk", [chat, respond])
@pytest.mark.parametrize("target", [a_graph, a_runnable, a_function])
async def test_openai_clients_hear_only_themselves(target, talk):
    async with (
        running(build_app(target(), dialects=["openai"])) as url,
        AsyncOpenAI(
            base_url=f"{url}/v1",
            api_key="none",
            timeout=PATIENCE,
            max_retries=0,
            default_headers=as_user("ann"),
        ) as ann,
        ann.with_options(default_headers=as_user("bob")) as bob,
    ):
        [model] = [model.id async for model in ann.models.list()]
        talks = [
            talk(api, model, caller, number)
            for caller, api in (("ann", ann), ("bob", bob))
            for number in range(CONVERSATIONS)
        ]
        for words, received in await asyncio.gather(*talks):
            assert received == " ".join(words)


async def run_thread(http, caller, number):
    """Have a conversation in a thread that the other caller uses, too."""
    words = [f"{caller}{number}.{turn}" for turn in range(TURNS)]
    for word in words:
        heard = await run(http, word, thread=f"thread {number}", headers=as_user(caller))
    return words, heard.text


@pytest.mark.parametrize("target", [a_graph, a_runnable, a_function])
async def test_front_ends_of_ag_ui_hear_only_themselves(target):
    async with serving(target(), dialects=["ag-ui"]) as http:
        talks = [
            run_thread(http, caller, number)
            for caller in ("ann", "bob")
            for number in range(CONVERSATIONS)
        ]
        for words, received in await asyncio.gather(*talks):
            assert received == " ".join(words)
