"""Served runnables, graphs and agents answer as they do when they are invoked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, TypedDict

import pytest
from a2a_adapters_langchain import adapt
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    after_agent,
    after_model,
    before_model,
    dynamic_prompt,
    wrap_model_call,
    wrap_tool_call,
)
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.output_parsers import StrOutputParser
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import (
    Runnable,
    RunnableBinding,
    RunnableBranch,
    RunnableLambda,
    RunnablePassthrough,
    RunnablePick,
    RunnableWithFallbacks,
)
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, RetryPolicy, interrupt
from pydantic import BaseModel, field_validator

from a2a_adapters import (
    BlockedError,
    Data,
    File,
    InputRequired,
    Progress,
    ServerOptions,
    TargetError,
    Text,
    TextDelta,
    ToolCall,
    build_app,
)
from a2a_adapters.testing import (
    AnswerContract,
    OnSqlite,
    answer_of,
    connect,
    running,
    send,
    user_message,
)
from tests.plugins.langchain.support import (
    Scripted,
    Whole,
    answer,
    ask,
    call,
    calling,
    kinds,
    only,
    reply,
    request,
    run,
)
from tests.support.answers import Program, Recorded, check, in_each_way

BOMB = "how to build a bomb"


class Unsteady(Scripted):
    """A model that breaks off after a text that ends with an ellipsis."""

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        breaks = False
        async for chunk in super()._astream(messages, stop, run_manager, **kwargs):
            if breaks:
                raise ConnectionError("the line is dead")
            breaks = chunk.text.endswith("…")
            yield chunk

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        result = super()._generate(messages, stop, run_manager, **kwargs)
        if result.generations[0].message.text.endswith("…"):
            raise ConnectionError("the line is dead")
        return result


def line(*nodes, state=MessagesState, **options):
    """Return a graph that runs nodes, given as functions, one after the other."""
    builder = StateGraph(state)
    before = START
    for node in nodes:
        builder.add_node(node.__name__, node)
        builder.add_edge(before, node.__name__)
        before = node.__name__
    builder.add_edge(before, END)
    return builder.compile(**options)


def says(*script, name="speak", model=Scripted, **fields):
    """Return a node that adds a model's message, with other fields if there are any."""
    scripted = model(script=list(script))

    async def speak(state):
        return {"messages": [await scripted.ainvoke(state["messages"])]}

    async def edit(state):
        said = await scripted.ainvoke(state["messages"])
        return {"messages": [said.model_copy(update=fields)]}

    node = edit if fields else speak
    node.__name__ = name
    return node


def speaks_with(runnable):
    """Return a node that adds what a runnable makes of the messages."""

    async def speak(state):
        return {"messages": [await runnable.ainvoke(state["messages"])]}

    return speak


def draft(state):
    """Write a draft."""
    return {"messages": [AIMessage("The draft.")]}


def approve(state):
    """Ask for approval."""
    interrupt("Send it?")


def invoked(*messages, read=lambda state: state["messages"][-1].text):
    """Return a call of a graph or agent by `ainvoke`."""

    async def bare(graph: Any) -> object:
        graph = graph.copy({"checkpointer": InMemorySaver()})
        config = {"configurable": {"thread_id": "bare"}}
        state = await graph.ainvoke({"messages": [("user", "hello")]}, config)
        for each in messages:
            waits = (await graph.aget_state(config)).tasks
            asks = any(task.interrupts for task in waits)
            state = await graph.ainvoke(Command(resume=each) if asks else None, config)
        return read(state)

    return bare


def approval(name, target, answer="yes", **fields):
    return Program(
        name=name,
        target=target,
        bare=invoked(answer),
        messages=("hello", answer),
        **fields,
    )


def or_end(state):
    return {"messages": []}


def ends_itself(state):
    interrupt("Send it?")
    return Command(goto=END)


def edited_after_question():
    """A draft that is streamed, as it may be the last, and edited under its id."""

    def edit(state):
        text = interrupt("Which text?")
        return {"messages": [AIMessage(text, id=state["messages"][-1].id)]}

    builder = StateGraph(MessagesState)
    builder.add_node("write", says("The streamed draft."))
    builder.add_node("edit", edit)
    builder.add_edge(START, "write")
    builder.add_conditional_edges("write", lambda _: "edit", ["edit", END])
    builder.add_edge("edit", END)
    return builder.compile()


class Topic(TypedDict):
    topic: str


class Report(Topic):
    draft: str


def state_with_approval():
    async def write(state):
        return {"draft": f"A report on {state['topic']}."}

    builder = StateGraph(Report, input_schema=Topic)
    builder.add_sequence([write, approve])
    builder.add_edge(START, "write")
    return builder.compile()


async def call_state_with_approval(graph):
    graph = graph.copy({"checkpointer": InMemorySaver()})
    config = {"configurable": {"thread_id": "bare"}}
    await graph.ainvoke({"topic": "hello"}, config)
    return (await graph.ainvoke(Command(resume="yes"), config))["draft"]


def agent(*script, middleware=(), tools=(), model=Scripted, callbacks=None, **options):
    scripted = model(script=list(script), callbacks=callbacks)
    return create_agent(scripted, list(tools), middleware=list(middleware), **options)


@after_model
def guard_model(state, runtime):
    last = state["messages"][-1]
    return {"messages": [AIMessage("I cannot help.", id=last.id)]} if "bomb" in last.text else None


@after_agent
def guard_agent(state, runtime):
    last = state["messages"][-1]
    return {"messages": [RemoveMessage(id=last.id), AIMessage("I cannot help.")]}


@wrap_model_call
async def regenerate(model_request, handler):
    response = await handler(model_request)
    if "bomb" in response.result[0].text:
        response = await handler(model_request)
    return response


@after_agent
def edit_by_person(state, runtime):
    text = interrupt("Which text?")
    return {"messages": [AIMessage(text, id=state["messages"][-1].id)]}


@after_model
def block(state, runtime):
    if "bomb" in state["messages"][-1].text:
        raise BlockedError


@after_model(can_jump_to=["model"])
def ask_again(state, runtime):
    again = {"messages": [HumanMessage("Say something else.")], "jump_to": "model"}
    return again if "bomb" in state["messages"][-1].text else None


class Audited(AgentState):
    audit: str


class Audit(AgentMiddleware):
    """Replaces a message, and keeps what it has replaced."""

    state_schema = Audited

    def after_model(self, state, runtime):
        last = state["messages"][-1]
        removed = RemoveMessage(id=last.id)
        return {"messages": [removed, AIMessage("I cannot help.")], "audit": last.text}


class WholeAnswers(Scripted):
    """A model that checks its answers only if it does not stream."""

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        super()._generate(messages, stop, run_manager, **kwargs)
        return ChatResult(generations=[ChatGeneration(message=AIMessage("I cannot help."))])


class WholeText(StrOutputParser):
    """Checks the whole text."""

    def parse(self, text):
        return "I cannot help." if "bomb" in text else text


def refuse_bombs(text):
    if "bomb" in text:
        raise BlockedError


class Checked(RunnableBinding):
    """Checks only what `ainvoke` returns."""

    async def ainvoke(self, *args, **kwargs):
        said = await super().ainvoke(*args, **kwargs)
        return AIMessage("I cannot help.") if "bomb" in said.text else said


def checked():
    return Checked(bound=Scripted(script=[BOMB]))


class Native(Scripted):
    """Takes the schema of its answer."""

    def bind_tools(self, tools, **kwargs):
        return self.bind(**kwargs)


class Refusal(BaseCallbackHandler):
    """Refuses what a model has said."""

    raise_error = True

    def on_llm_end(self, response, **kwargs):
        refuse_bombs(response.generations[0][0].text)


def beside_the_answer():
    answer = (
        RunnableLambda(lambda said: said["asked"]) | Scripted(script=[BOMB]) | StrOutputParser()
    )
    is_fine = RunnableLambda(lambda said: refuse_bombs(said["answer"]))
    answering = RunnablePassthrough.assign(answer=answer)
    checking = RunnablePassthrough.assign(is_fine=is_fine)
    asked = RunnableLambda(lambda text: {"asked": text})
    return asked | answering | checking | RunnablePick("answer")


class OfOnesOwn(Runnable):
    """Reports no run to callbacks."""

    def invoke(self, text, config=None, **kwargs):
        return f"{text}, too"


class Deps:
    """What a node finds in its attributes."""

    def __init__(self, **attributes):
        self.inner = SimpleNamespace(**attributes)

    @property
    def agent(self):
        return self.inner.agent


def node_with_deps(**attributes):
    deps = Deps(**attributes)

    async def speak(state):
        return {"messages": [await deps.inner.model.ainvoke(state["messages"])]}

    return line(speak)


def node_that_asks_others(**attributes):
    deps = Deps(**attributes)

    async def ask(state):
        said = await deps.agent.ainvoke(state)
        return said["messages"][-1:]

    async def speak(state):
        return {"messages": await ask(state)}

    return adapt(line(speak), stream_nodes=["speak"])


def refuse(state):
    refuse_bombs(state["messages"][-1].text)
    return END


def fail(state):
    if not state["messages"]:
        raise ValueError
    return END


def with_edges(route=lambda _: END, before=lambda _: "speak"):
    builder = StateGraph(MessagesState).add_node("speak", says(BOMB))
    builder.add_conditional_edges(START, before, ["speak", END])
    return builder.add_conditional_edges("speak", route, [END]).compile()


class Pieces(Scripted):
    """Streams a few characters at a time."""

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
        text = self._next(messages).text
        for start in range(0, len(text), 3):
            yield ChatGenerationChunk(message=AIMessageChunk(text[start : start + 3]))
        yield ChatGenerationChunk(message=AIMessageChunk("", chunk_position="last"))


def decided_at_runtime():
    """A model and its guard, whose successors no annotation names."""
    speak = says(BOMB)

    async def write(state):
        return Command(goto="check", update=await speak(state))

    def check(state):
        last = state["messages"][-1]
        return Command(goto=END, update={"messages": [AIMessage("I cannot help.", id=last.id)]})

    builder = StateGraph(MessagesState).add_node("write", write).add_node("check", check)
    return builder.add_edge(START, "write").compile()


@tool
def find(query: str) -> str:
    """Find something."""
    return f"a book about {query}"


@wrap_tool_call
async def change_arguments(tool_request, handler):
    changed = {**tool_request.tool_call, "args": {"query": "cats"}}
    return await handler(tool_request.override(tool_call=changed))


@before_model
def mask_results(state, runtime):
    return {"messages": masked(state["messages"])}


def masked(messages):
    return [
        each.model_copy(update={"content": "***"})
        for each in messages
        if isinstance(each, ToolMessage)
    ]


def masked_results():
    """A graph with a node that changes what tools have found."""
    builder = StateGraph(MessagesState)
    builder.add_node("speak", says(calling(call("find", query="bombs")), "Nothing."))
    builder.add_node("tools", ToolNode([find]))
    builder.add_node("mask", lambda state: {"messages": masked(state["messages"])})
    builder.add_edge(START, "speak").add_edge("tools", "mask").add_edge("mask", "speak")
    return builder.add_conditional_edges("speak", tools_condition).compile()


def finding(*middleware, query="cats"):
    return agent(
        calling(call("find", query=query)), "Nothing.", tools=[find], middleware=middleware
    )


class Strict(BaseModel, hide_input_in_errors=True):
    text: str

    @field_validator("text")
    @classmethod
    def no_bomb(cls, text):
        if "bomb" in text:
            raise ValueError
        return text


def guarded(name, *middleware, script=(BOMB,), model=Scripted, **fields):
    """Return a program whose text `BOMB` is replaced."""
    return Program(
        name=name,
        target=lambda: agent(*script, middleware=middleware, model=model),
        bare=invoked(),
        **{"blocked": BOMB, "is_kept": True, **fields},
    )


@tool(return_direct=True)
def look(city: str) -> str:
    """Look."""
    return f"{city} is sunny."


class Weather(BaseModel):
    degrees: int


def retried_node():
    builder = StateGraph(MessagesState)
    node = says("half an …", "an answer", model=Unsteady)
    builder.add_node("speak", node, retry_policy=RetryPolicy(initial_interval=0.01))
    builder.add_edge(START, "speak")
    return builder.compile()


def last_message(kind, **fields):
    return line(says("thinking", name="think"), lambda_node(kind("The result.", **fields)))


def lambda_node(message):
    def result(state):
        return {"messages": [message]}

    return result


def forgets_what_it_said(state):
    return {"messages": [RemoveMessage(id=state["messages"][-1].id), AIMessage("Never mind.")]}


def removed():
    builder = StateGraph(MessagesState)
    builder.add_node("speak", says("I said that."))
    builder.add_node("forget", forgets_what_it_said)
    builder.add_edge(START, "speak")
    builder.add_conditional_edges("speak", lambda _: "forget", ["forget", END])
    return builder.compile()


IMAGE = {"type": "image", "base64": "YWJj", "mime_type": "image/png"}
LOOK, THERE = {"type": "text", "text": "Look."}, {"type": "text", "text": "There."}


def image(state):
    return {"messages": [AIMessage([LOOK, IMAGE])]}


def blocks(message):
    """Return the parts of a message in order."""
    files = File(content=b"abc", media_type="image/png")
    return [Text(each["text"]) if each["type"] == "text" else files for each in message.content]


async def drawn(target):
    """Return the parts of the last message of an agent, or of a model."""
    if isinstance(target, Scripted | RunnableWithFallbacks):
        return blocks(await target.ainvoke("hello"))
    return await invoked(read=lambda state: blocks(state["messages"][-1]))(target)


def called(value="hello"):
    async def bare(runnable: Any) -> object:
        result = await runnable.ainvoke(value)
        return getattr(result, "text", result)

    return bare


def fallbacks():
    first = Unsteady(script=["half an …"])
    return (first | StrOutputParser()).with_fallbacks([RunnableLambda(lambda _: "an answer")])


def retries():
    model = Unsteady(script=["half an …", "an answer", "an answer"])
    return model.with_retry(wait_exponential_jitter=False) | StrOutputParser()


AS_MESSAGES = RunnableLambda(lambda text: {"messages": [("user", text)]})


def chosen_by_a_function(chosen):
    return RunnableLambda(lambda _: chosen)


async def _last_text(chain):
    return (await chain.ainvoke("hello"))["messages"][-1].text


PROGRAMS = [
    approval("approval is last", lambda: line(draft, approve)),
    approval("approval ends the graph", lambda: line(draft, ends_itself)),
    approval(
        "approval is a breakpoint",
        lambda: line(draft, or_end, interrupt_before=["or_end"]),
    ),
    Program(
        name="approval is last in a state of keys",
        target=state_with_approval,
        bare=call_state_with_approval,
        messages=("hello", "yes"),
    ),
    approval("a streamed draft is edited", edited_after_question, "The edit."),
    approval(
        "an agent's answer is edited",
        lambda: agent("The secret draft.", middleware=[edit_by_person]),
        "The edit.",
        blocked="secret draft",
        is_kept=True,
    ),
    approval(
        "a model speaks before each question",
        lambda: line(says("Let me see."), approve, says("Sent.", name="send")),
    ),
    guarded("a guard replaces the message", guard_model),
    guarded("a guard removes the message", guard_agent),
    guarded("the model is asked again", regenerate, script=(BOMB, "fine"), is_kept=False),
    guarded("the model is asked again by a message", ask_again, script=(BOMB, "fine")),
    guarded("a guard keeps a copy", Audit()),
    Program(
        name="a retried model has a guard",
        target=lambda: agent(
            "half an …",
            BOMB,
            model=Unsteady,
            middleware=[ModelRetryMiddleware(initial_delay=0, jitter=False), guard_model],
        ),
        bare=invoked(),
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a guard follows at runtime",
        target=decided_at_runtime,
        bare=invoked(),
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a model of an agent checks whole answers",
        target=lambda: agent(BOMB, model=WholeAnswers),
        bare=invoked(),
        blocked=BOMB,
    ),
    Program(
        name="a model of a node checks whole answers",
        target=lambda: line(says(BOMB, model=WholeAnswers)),
        bare=invoked(),
        blocked=BOMB,
    ),
    Program(
        name="a model of a chain checks whole answers",
        target=lambda: WholeAnswers(script=[BOMB]) | StrOutputParser(),
        bare=called(),
        blocked=BOMB,
    ),
    *(
        Program(name=name, target=target, bare=bare, blocked=BOMB)
        for name, target, bare in (
            ("a class checks what ainvoke returns", checked, called()),
            (
                "a class checks what ainvoke returns in a chain",
                lambda: checked() | StrOutputParser(),
                called(),
            ),
            (
                "a class checks what ainvoke returns in a node",
                lambda: line(speaks_with(checked())),
                invoked(),
            ),
            (
                "a model of an attribute checks whole answers",
                lambda: node_with_deps(model=WholeAnswers(script=[BOMB])),
                invoked(),
            ),
        )
    ),
    *(
        Program(
            name=f"{name} refuses the text",
            target=target,
            bare=lambda _: _nothing(),
            state="rejected",
            blocked=BOMB,
            is_kept=is_kept,
        )
        for name, target, is_kept in (
            ("a callback of a model", lambda: agent(BOMB, callbacks=[Refusal()]), False),
            (
                "a callback of an agent",
                lambda: agent(BOMB).with_config(callbacks=[Refusal()]),
                False,
            ),
            (
                "a callback of a chain",
                lambda: (Scripted(script=[BOMB]) | StrOutputParser()).with_config(
                    callbacks=[Refusal()]
                ),
                False,
            ),
            (
                "a callback of a run",
                lambda: adapt(Scripted(script=[BOMB]), config=lambda _: {"callbacks": [Refusal()]}),
                False,
            ),
            (
                "a callback of a graph's run",
                lambda: adapt(agent(BOMB), config=lambda _: {"callbacks": [Refusal()]}),
                False,
            ),
            (
                "a function that text passes through",
                lambda: (
                    Scripted(script=[BOMB]) | StrOutputParser() | RunnablePassthrough(refuse_bombs)
                ),
                False,
            ),
            ("an edge", lambda: with_edges(refuse), True),
            (
                "a callback of a model that takes over",
                lambda: agent(
                    "half an …",
                    model=Unsteady,
                    middleware=[
                        ModelFallbackMiddleware(Scripted(script=[BOMB], callbacks=[Refusal()]))
                    ],
                ),
                False,
            ),
            ("a function beside the answer", beside_the_answer, False),
        )
    ),
    Program(name="a class of one's own", target=OfOnesOwn, bare=called()),
    Program(
        name="a class of one's own with a name",
        target=lambda: OfOnesOwn().with_config(run_name="named"),
        bare=called(),
    ),
    Program(
        name="a provider's structured output is refused",
        target=lambda: agent(
            f'{{"text": "{BOMB}"}}', response_format=ProviderStrategy(Strict), model=Native
        ),
        bare=lambda _: _nothing(),
        state="failed",
        blocked=BOMB,
    ),
    Program(
        name="a parser checks the whole text",
        target=lambda: Scripted(script=[f"this is {BOMB}"]) | WholeText(),
        bare=called(),
        blocked=BOMB,
    ),
    Program(
        name="hooks change arguments of tools",
        target=lambda: finding(change_arguments, query=BOMB),
        bare=invoked(),
        blocked=BOMB,
        is_kept=True,
    ),
    *(
        Program(
            name=f"{name} changes results of tools",
            target=target,
            bare=invoked(),
            blocked="a book about",
            is_kept=True,
        )
        for name, target in (
            ("a hook", lambda: finding(mask_results)),
            ("a node", masked_results),
        )
    ),
    Program(
        name="structured output is refused",
        target=lambda: agent(
            calling(call("Strict", text=BOMB)),
            calling(call("Strict", "c2", text="fine")),
            response_format=ToolStrategy(Strict),
        ),
        bare=invoked(read=lambda state: Data(state["structured_response"].model_dump())),
        blocked=BOMB,
        is_kept=True,
    ),
    guarded(
        "personal data is masked in pieces",
        PIIMiddleware("url", apply_to_output=True),
        script=(f"Go to https://bank.example/reset/secret {'and wait ' * 30}",),
        model=Pieces,
        blocked="bank.example/reset/secret",
    ),
    guarded(
        "personal data is masked",
        PIIMiddleware("email", apply_to_output=True),
        script=("mail bob@example.com now",),
        blocked="bob@example.com",
    ),
    guarded(
        "a guard of its own module",
        type(
            "Guard",
            (AgentMiddleware,),
            {
                "after_model": lambda self, state, runtime: guard_model.after_model(state, runtime),
            },
        )(),
    ),
    Program(
        name="personal data blocks the run",
        target=lambda: agent(
            "mail bob@example.com",
            middleware=[PIIMiddleware("email", strategy="block", apply_to_output=True)],
        ),
        bare=lambda _: _nothing(),
        state="rejected",
        blocked="bob@example.com",
        is_kept=True,
    ),
    Program(
        name="a guard blocks the run",
        target=lambda: agent(BOMB, middleware=[block]),
        bare=lambda _: _nothing(),
        state="rejected",
        blocked=BOMB,
        is_kept=True,
    ),
    Program(
        name="a model is retried",
        target=lambda: agent(
            "half an …",
            "an answer",
            model=Unsteady,
            middleware=[ModelRetryMiddleware(initial_delay=0, jitter=False)],
        ),
        bare=invoked(),
    ),
    Program(
        name="another model takes over",
        target=lambda: agent(
            "half an …",
            model=Unsteady,
            middleware=[ModelFallbackMiddleware(Scripted(script=["an answer"]))],
        ),
        bare=invoked(),
    ),
    Program(name="a node is retried", target=retried_node, bare=invoked()),
    *(
        Program(
            name=f"the last message is a {kind.__name__}",
            target=lambda kind=kind, fields=fields: last_message(kind, **fields),
            bare=invoked(),
        )
        for kind, fields in (
            (HumanMessage, {"name": "researcher"}),
            (ChatMessage, {"role": "critic"}),
            (SystemMessage, {}),
        )
    ),
    Program(name="a streamed message is removed", target=removed, bare=invoked()),
    Program(
        name="a node changes what its model says",
        target=lambda: line(says("the text", content="THE TEXT", id=None)),
        bare=invoked(),
    ),
    Program(
        name="a node wraps what its model says",
        target=lambda: line(says("the text", id=None)),
        bare=invoked(),
    ),
    Program(
        name="an agent is a node",
        target=lambda: (
            StateGraph(MessagesState)
            .add_node("agent", agent("The weather is fine."))
            .add_edge(START, "agent")
            .compile()
        ),
        bare=invoked(),
    ),
    Program(
        name="a tool is the last step",
        target=lambda: agent(calling(call("look", city="Rome")), tools=[look]),
        bare=invoked(),
    ),
    Program(
        name="structured output",
        target=lambda: agent(calling(call("Weather", degrees=20)), response_format=Weather),
        bare=invoked(read=lambda state: Data(state["structured_response"].model_dump())),
    ),
    Program(
        name="text along with a tool call",
        target=lambda: agent(calling(call("look", city="Rome"), text="Let me look."), tools=[look]),
        bare=invoked(
            read=lambda state: "\n\n".join(m.text for m in state["messages"][1:] if m.text)
        ),
    ),
    Program(name="an empty answer", target=lambda: line(says("")), bare=invoked()),
    Program(
        name="reasoning",
        target=lambda: line(says("<think>Hm.</think>Yes.")),
        bare=invoked(),
        differs="Yes.",
        because="reasoning is not part of an answer",
    ),
    Program(
        name="text and a file",
        target=lambda: line(image),
        bare=invoked(read=lambda state: blocks(state["messages"][-1])),
    ),
    *[
        Program(
            name=f"a file between the texts of {name}",
            target=lambda wrap=wrap: wrap(Scripted(script=[AIMessage([LOOK, IMAGE, THERE])])),
            bare=drawn,
        )
        for name, wrap in (
            ("a model", lambda model: model),
            ("an agent", lambda model: create_agent(model, tools=[])),
            (
                "a guarded agent",
                lambda model: create_agent(
                    model, tools=[], middleware=[PIIMiddleware("email", apply_to_output=True)]
                ),
            ),
        )
    ],
    Program(
        name="an agent is a step",
        target=lambda: (
            RunnableLambda(lambda text: {"messages": [("user", text)]})
            | agent(BOMB, middleware=[guard_model])
        ),
        bare=_last_text,
        blocked=BOMB,
    ),
    *(
        Program(name=f"{name} chooses an agent", target=target, bare=_last_text)
        for name, target in (
            ("a function", lambda: AS_MESSAGES | chosen_by_a_function(agent("Yes."))),
            (
                "a branch",
                lambda: AS_MESSAGES | RunnableBranch((bool, agent("Yes.")), RunnableLambda(str)),
            ),
        )
    ),
    Program(
        name="an agent is a step before others",
        target=lambda: (
            RunnableLambda(lambda text: {"messages": [("user", text)]})
            | agent("Yes.")
            | RunnableLambda(lambda state: f"{len(state['messages'])} messages")
        ),
        bare=called(),
    ),
    Program(name="a runnable falls back", target=fallbacks, bare=called()),
    Program(name="a runnable is retried", target=retries, bare=called()),
    Program(
        name="a step changes the text",
        target=lambda: (
            Scripted(script=[BOMB])
            | RunnableLambda(lambda said: "I cannot help." if "bomb" in said.text else said)
        ),
        bare=called(),
        blocked=BOMB,
    ),
]


async def _nothing() -> None:
    """Return nothing: the call raises, and the task has no answer."""


@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_call(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)


class TestContract(AnswerContract):
    def guarded(self):
        return agent(self.blocked, middleware=[guard_model])

    def blocking(self):
        return agent(self.blocked, middleware=[block])

    def retrying(self):
        return retried_node()


class TestContractOnSqlite(OnSqlite, TestContract): ...


@pytest.mark.parametrize(
    ("middleware", "holds"),
    [
        ([], False),
        ([guard_model], True),
        ([guard_agent], True),
        ([regenerate], True),
        ([PIIMiddleware("email")], False),
        ([PIIMiddleware("email", apply_to_output=True)], True),
        ([ModelRetryMiddleware()], False),
        ([dynamic_prompt(lambda _: "Be kind.")], False),
    ],
)
def test_only_agents_with_guards_hold_their_text(middleware, holds):
    made = agent("hi", middleware=middleware)
    assert adapt(made).holds_text is holds
    inside = StateGraph(MessagesState).add_node("inner", made).add_edge(START, "inner").compile()
    assert adapt(inside).holds_text is holds


@pytest.mark.parametrize(
    ("edges", "holds"),
    [({"route": refuse}, True), ({"route": fail}, False), ({"before": refuse}, False)],
)
def test_edges_hold_the_text_if_they_reject_it(edges, holds):
    assert adapt(with_edges(**edges)).holds_text is holds


def test_a_graph_that_checks_what_ainvoke_returns_is_refused():
    graph = line(says("hi"))
    own = type("Own", (type(graph),), {"ainvoke": lambda self, *args: None})
    graph.__class__ = own
    with pytest.raises(TargetError, match="Own overrides how a graph is invoked"):
        adapt(graph)


def two_agents():
    plain, guarded = agent("draft"), agent(BOMB, middleware=[guard_model])

    async def speak(state):
        await plain.ainvoke(state)
        return {"messages": (await guarded.ainvoke(state))["messages"][-1:]}

    return line(speak)


class Callable:
    """A node."""

    def __init__(self, inner):
        self.inner = inner

    async def __call__(self, state):
        return {"messages": (await self.inner.ainvoke(state))["messages"][-1:]}


class Desk:
    """Keeps its agents where LangGraph does not look for them."""

    def __init__(self):
        self.agents = {"helper": agent(BOMB, middleware=[guard_model])}

    async def speak(self, state):
        return {"messages": (await self.agents["helper"].ainvoke(state))["messages"][-1:]}

    def graph(self):
        builder = StateGraph(MessagesState).add_node("speak", self.speak)
        return builder.add_edge(START, "speak").compile()


def workflow_of_two():
    plain, guarded = agent("draft"), agent(BOMB, middleware=[guard_model])

    @entrypoint()
    async def both(messages: list):
        await plain.ainvoke({"messages": messages})
        return (await guarded.ainvoke({"messages": messages}))["messages"][-1]

    return both


def asking_agent():
    """An agent with a guarded agent as its tool, whose text may not be part of the answer."""
    inner = agent(BOMB, middleware=[guard_model])

    @tool
    async def expert(question: str) -> str:
        """Ask an expert."""
        return (await inner.ainvoke({"messages": [("user", question)]}))["messages"][-1].text

    asks = calling(call("expert", question="how?"))
    return adapt(agent(asks, "I cannot help.", tools=[expert]), stream_nodes=["tools", "model"])


@pytest.mark.parametrize(
    "target",
    [
        two_agents,
        workflow_of_two,
        asking_agent,
        lambda: adapt(Desk().graph(), stream_nodes=["speak"]),
        lambda: adapt(
            StateGraph(MessagesState)
            .add_node("speak", Callable(agent(BOMB, middleware=[guard_model])))
            .add_edge(START, "speak")
            .compile(),
            stream_nodes=["speak"],
        ),
        lambda: node_that_asks_others(agent=agent(BOMB, middleware=[guard_model])),
        lambda: adapt(
            StateGraph(MessagesState)
            .add_node("a", agent(BOMB, middleware=[guard_model], checkpointer=False))
            .add_edge(START, "a")
            .compile(),
            stream_nodes=["a"],
        ),
        lambda: agent(BOMB, middleware=[guard_model]).with_fallbacks([agent("hi")]),
    ],
)
async def test_guards_are_found_where_langgraph_does_not_look(target):
    app = Recorded(build_app(target(), name="agent", options=ServerOptions(storage="memory:")))
    async with running(app) as url, connect(url) as client:
        task = await send(client, user_message("hello"))
    assert answer_of(task) == "I cannot help."
    assert BOMB.encode() not in app.sent
    assert b"bomb" not in app.sent


async def test_tool_calls_are_reported_as_the_guard_leaves_them():
    @after_model
    def mask(state, runtime):
        last = state["messages"][-1]
        masked = [{**call, "args": {"city": "***"}} for call in last.tool_calls]
        return {"messages": [last.model_copy(update={"tool_calls": masked})]}

    script = calling(call("look", city="bomb")), "done"
    events = await ask(
        adapt(agent(*script, tools=[look], middleware=[mask])), "hi", wants_progress=True
    )
    assert only(events, ToolCall).arguments == {"city": "***"}
    assert "bomb" not in str(events)


class Streamed(PIIMiddleware):
    """Says that its transformers check the stream."""

    transformers = ()  # which each object replaces


class Stricter(PIIMiddleware):
    """Checks more than the transformer that it inherits."""

    def after_model(self, state, runtime):
        return guard_model.after_model(state, runtime)


def test_inherited_transformers_are_not_enough():
    assert adapt(agent("hi", middleware=[Stricter("email", apply_to_output=True)])).holds_text


async def test_graphs_made_for_each_run_are_checked_for_each_run():
    def make(config):
        is_guarded = "thread_id" in config["configurable"]
        return agent(BOMB, middleware=[guard_model] if is_guarded else [])

    events = await ask(adapt(make), "hi")
    assert answer(events) == "I cannot help."
    assert "bomb" not in str(events)


async def test_text_is_streamed_if_the_guard_checks_the_stream():
    masked = Streamed("email", apply_to_output=True)
    text = f"{'Mail to bob@example.com, ' * 20}please."
    adapter = adapt(agent(text, middleware=[masked]))
    assert not adapter.holds_text
    events = [event async for event in adapter.stream(request("hi"))]
    assert len([event for event in events if isinstance(event, TextDelta)]) > 20
    assert "bob@" not in str(events)
    assert answer(events) == text.replace("bob@example.com", "[REDACTED_EMAIL]")
    whole = agent("Mail bob@example.com.", middleware=[masked], model=Whole)
    assert answer(await ask(adapt(whole), "hi")) == "Mail [REDACTED_EMAIL]."
    inside = StateGraph(MessagesState).add_node("inner", whole).add_edge(START, "inner").compile()
    assert adapt(inside).holds_text


async def test_a_checked_stream_asks_and_goes_on():
    masked = Streamed("email", apply_to_output=True)

    @tool
    def send(to: str) -> str:
        """Send."""
        return interrupt(f"Send to {to}?")

    calls = calling(call("send", to="Ann"), text="I write to bob@example.com.")
    adapter = adapt(agent(calls, "Sent to bob@example.com.", tools=[send], middleware=[masked]))
    events = await ask(adapter, "hi", wants_progress=True)
    asked = only(events, InputRequired)
    assert asked.prompt == "Send to Ann?"
    assert answer(events) == "I write to [REDACTED_EMAIL]."
    assert "finished: model" in [each.text for each in events if isinstance(each, Progress)]
    done = await run(adapter, reply(asked, "yes"))
    assert answer(done) == "I write to [REDACTED_EMAIL].\n\nSent to [REDACTED_EMAIL]."


@entrypoint()
async def typed(messages: list[AnyMessage]) -> str:
    return kinds(messages)


@entrypoint()
async def untyped(messages: list) -> str:
    return kinds(messages)


@entrypoint()
async def remembering(messages: list, *, previous: str | None = None) -> entrypoint.final[str, str]:
    return entrypoint.final(value=(previous or "") + kinds(messages), save="again,")


@pytest.mark.parametrize(
    ("workflow", "second"),
    [(typed, "human,ai,human"), (untyped, "human,ai,human"), (remembering, "again,human")],
)
async def test_workflows_over_messages_get_the_earlier_turns(workflow, second):
    app = build_app(workflow, name="workflow", options=ServerOptions(storage="memory:"))
    async with running(app) as url, connect(url) as client:
        said = [
            answer_of(await send(client, user_message("hello", context_id="one"))) for _ in range(2)
        ]
    assert said == ["human", second]
