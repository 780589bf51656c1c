"""The conversation of a call, and the messages that are sent."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from a2a_adapters_langchain import A2ALLM, A2AChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from a2a_adapters import InputRequired, RemoteAgent, RemoteRefusedError, build_app
from a2a_adapters.testing import running
from tests.plugins.langchain.calling.support import Memory, booking, words
from tests.support.servers.front import Recording
from tests.support.servers.states import asks_login, asks_twice


def thread(name):
    return {"configurable": {"thread_id": name}}


async def test_threads_send_only_new_messages(serve):
    memory = Memory()
    model = A2AChatModel(agent=serve(memory.answer))
    messages = [SystemMessage("Be brief"), HumanMessage("one")]
    for text in ("two", "three"):
        messages += [model.invoke(messages, thread("t")), HumanMessage(text)]
    last = await model.ainvoke(messages, thread("t"))
    assert memory.texts == ["System: Be brief\nUser: one", "two", "three"]
    assert last.content == "2 three"
    assert len(memory.contexts) == 1
    assert model.invoke("by itself", thread("t")).content == "3 by itself"
    assert model.invoke("by itself", thread("other")).content == "0 by itself"


async def test_calls_without_a_thread_send_the_dialogue(serve):
    memory = Memory()
    model = A2AChatModel(agent=serve(memory.answer))
    call = {"name": "search", "args": {}, "id": "1"}
    first = model.invoke("one")
    await model.ainvoke(
        [
            HumanMessage("one"),
            first,
            AIMessage("", tool_calls=[call]),
            ToolMessage("found", tool_call_id="1", name="search"),
            ToolMessage("more", tool_call_id="1"),
            HumanMessage("two"),
        ]
    )
    assert memory.texts[1].splitlines() == [
        "User: one",
        "Assistant: 0 one",
        "Assistant: ",
        "Tool search: found",
        "Tool: more",
        "User: two",
    ]
    assert len(memory.contexts) == 2


async def test_messages_of_others_since_the_last_answer_are_sent(serve):
    memory = Memory()
    model = A2AChatModel(agent=serve(memory.answer))
    said = await model.ainvoke("one", thread("t"))
    others = [AIMessage("I know more"), HumanMessage("two")]
    await model.ainvoke([HumanMessage("one"), said, *others], thread("t"))
    assert memory.texts[1] == "Assistant: I know more\nUser: two"


async def test_conversations_can_be_continued_by_id(serve):
    memory = Memory()
    url = serve(memory.answer)
    first = await A2AChatModel(agent=url).ainvoke("one")
    context_id = first.response_metadata["context_id"]
    named = A2AChatModel(agent=url, context_id=context_id)
    assert (await named.ainvoke([HumanMessage("one"), first, HumanMessage("two")])).text == "1 two"
    assert named.invoke("three", thread("t")).text == "2 three"
    again = A2AChatModel(agent=url).invoke("four", context_id=context_id)
    assert again.text == "3 four"
    bound = A2AChatModel(agent=url).bind(context_id=context_id)
    assert bound.invoke("five").text == "4 five"
    llm = A2ALLM(agent=url, context_id=context_id)
    assert llm.invoke("six") == "5 six"


async def test_threads_continue_in_another_process(serve):
    memory = Memory()
    url = serve(memory.answer)
    messages = [HumanMessage("one")]
    messages.append(await A2AChatModel(agent=url).ainvoke(messages, thread("t")))
    messages.append(HumanMessage("two"))
    model = A2AChatModel(agent=url)  # knows of no conversation
    assert (await model.ainvoke(messages, thread("t"))).text == "1 two"
    assert model.invoke("three", thread("t")).text == "2 three"


@pytest.mark.parametrize("is_sync", [True, False, None], ids=["sync", "async", "both"])
async def test_threads_are_isolated(serve, is_sync):
    memory = Memory()
    agent = RemoteAgent(serve(memory.answer))
    model, llm = A2AChatModel(agent=agent), A2ALLM(agent=agent)
    pool = ThreadPoolExecutor(20)

    async def say(target, text, config, number):
        blocking = number % 2 if is_sync is None else is_sync
        if blocking:
            loop = asyncio.get_running_loop()
            said = await loop.run_in_executor(pool, target.invoke, text, config)
        else:
            said = await target.ainvoke(text, config)
        return said if isinstance(said, str) else said.text

    async def talk(number):
        target = (model, llm)[number % 4 // 2]
        return [
            await say(target, f"{number}.{turn}", thread(number), number + turn)
            for turn in range(3)
        ]

    with pool:
        talks = await asyncio.gather(*map(talk, range(20)))
    assert talks == [[f"{turn} {number}.{turn}" for turn in range(3)] for number in range(20)]
    assert len(memory.contexts) == 20


async def test_messages_of_one_thread_are_sent_in_turn(serve):
    memory = Memory()
    agent = RemoteAgent(serve(memory.answer))
    model = A2AChatModel(agent=agent)
    config = [thread("t")] * 6
    inputs = [str(number) for number in range(6)]
    here, there = await asyncio.gather(
        model.abatch(inputs, config), asyncio.to_thread(model.batch, inputs, config)
    )
    assert sorted(int(said.text.split()[0]) for said in [*here, *there]) == list(range(12))
    assert len(memory.contexts) == 1


def is_question(message):
    return message.response_metadata["state"] in {"input-required", "auth-required"}


@pytest.mark.parametrize("named", [None, "t"])
async def test_questions_are_answered_by_the_history(serve, named):
    url = serve(booking)
    config = thread(named) if named else None
    messages = [HumanMessage("trip")]
    for text, question in (("Rome", "Where to?"), ("Monday", "When?")):
        said = await A2AChatModel(agent=url).ainvoke(messages, config)  # each time a new process
        assert is_question(said)
        assert said.text == question
        messages += [said, HumanMessage(text)]
    said = await A2AChatModel(agent=url).ainvoke(messages, config)
    assert said.text == "Booked trip to Rome, Monday."
    assert not is_question(said)


async def test_questions_are_answered_within_their_thread(serve):
    model = A2AChatModel(agent=serve(booking))
    for name, wish in (("a", "flight"), ("b", "trip")):
        assert is_question(model.invoke(wish, thread(name)))
    assert (await model.ainvoke("Rome", thread("a"))).text == "Booked flight to Rome, today."
    assert model.invoke("Oslo", thread("b")).text == "When?"
    chunks = [chunk async for chunk in model.astream("Monday", thread("b"))]
    assert sum(chunks[1:], chunks[0]).text == "Booked trip to Oslo, Monday."
    assert is_question(model.invoke("hotel", thread("a"))), "a new task begins"


async def test_questions_are_streamed_and_answered(serve):
    model = A2AChatModel(agent=serve(booking))
    chunks = [chunk async for chunk in model.astream("flight")]
    said = sum(chunks[1:], chunks[0])
    assert said.text == "Where to?"
    assert is_question(said)
    answer = [HumanMessage("flight"), said, HumanMessage("Rome")]
    assert "".join(c.text for c in model.stream(answer)) == "Booked flight to Rome, today."


async def test_questions_are_answered_by_task_id(serve):
    url = serve(booking)
    model, llm = A2AChatModel(agent=url), A2ALLM(agent=url)
    first, second = [(await model.ainvoke(wish)).response_metadata for wish in ("car", "trip")]
    ids = {key: first[key] for key in ("context_id", "task_id")}
    assert model.invoke("Rome", **ids).text == "Booked car to Rome, today."
    with pytest.raises(RemoteRefusedError):
        await model.ainvoke("Rome", **ids)
    assert await llm.ainvoke("Oslo", task_id=second["task_id"]) == "When?"
    assert "".join(llm.stream("Monday", task_id=second["task_id"])) == (
        "Booked trip to Oslo, Monday."
    )


@pytest.mark.parametrize("is_sync", [True, False])
async def test_concurrent_replies_to_several_tasks_of_a_conversation(serve, is_sync):
    model = A2AChatModel(agent=serve(booking))
    asked = [(await model.ainvoke(f"car {n}")).response_metadata for n in range(8)]

    async def reply(number):
        ids = {key: asked[number][key] for key in ("context_id", "task_id")}
        if is_sync:
            return await asyncio.to_thread(model.invoke, f"city {number}", **ids)
        return await model.ainvoke(f"city {number}", **ids)

    said = await asyncio.gather(*map(reply, range(8)))
    assert [m.text for m in said] == [f"Booked car {n} to city {n}, today." for n in range(8)]


async def test_threads_begin_a_new_task_after_a_failure(serve):
    async def agent(request):
        where = yield InputRequired("Where?")
        if where.text == "nowhere":
            raise RuntimeError
        yield f"to {where.text}"

    model = A2AChatModel(agent=serve(agent))
    messages = [HumanMessage("go")]
    messages += [await model.ainvoke(messages, thread("t")), HumanMessage("nowhere")]
    with pytest.raises(Exception, match="failed"):
        await model.ainvoke(messages, thread("t"))
    messages[-1] = HumanMessage("go again")
    assert is_question(await model.ainvoke(messages, thread("t")))


async def test_questions_of_third_party_agents():
    async with running(asks_twice()) as url:
        model = A2AChatModel(agent=url)
        said = [(await model.ainvoke(text, thread("t"))).text for text in ("go", "Rome", "now")]
        assert said == ["Which city?", "When?", "Booked: now"]
    async with running(asks_login()) as url:
        model = A2AChatModel(agent=url)
        said = await model.ainvoke("hello", thread("t"))
        assert said.response_metadata["state"] == "auth-required"
        assert (await model.ainvoke("done", thread("t"))).text == "Welcome"


async def test_ids_that_are_sent():
    front = Recording(build_app(words))
    async with running(front) as url:
        model = A2AChatModel(agent=url)
        first = await model.ainvoke("one", thread("t"))
        await model.ainvoke("two", thread("t"))
    context_id = first.response_metadata["context_id"]
    assert [message.get("contextId", "") for message in front.messages] == ["", context_id]
    assert not any("taskId" in message for message in front.messages)
    assert not any("t" in message.values() for message in front.messages)
