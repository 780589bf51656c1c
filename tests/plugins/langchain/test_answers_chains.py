"""Checks, parsers and retries in the middle of a chain."""

from __future__ import annotations

import pytest
from a2a_adapters_langchain import adapt
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import AIMessage
from langchain_core.output_parsers import (
    CommaSeparatedListOutputParser,
    JsonOutputParser,
    StrOutputParser,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import (
    RouterRunnable,
    Runnable,
    RunnableBranch,
    RunnableConfig,
    RunnableGenerator,
    RunnableLambda,
    RunnablePassthrough,
    RunnablePick,
)
from langchain_core.runnables.history import RunnableWithMessageHistory

from tests.plugins.langchain.support import Scripted, ask, deltas
from tests.plugins.langchain.test_answers import (
    BOMB,
    IMAGE,
    LOOK,
    THERE,
    Unsteady,
    WholeText,
    agent,
    drawn,
    refuse_bombs,
)
from tests.support.answers import Program, check, in_each_way

pytestmark = pytest.mark.filterwarnings(
    "ignore::langchain_core._api.deprecation.LangChainDeprecationWarning"
)

ASKED = RunnableLambda(lambda text: {"question": text})
PROMPT = ChatPromptTemplate.from_template("{question}")


def says(*script):
    return Scripted(script=list(script))


def checking():
    return PROMPT | says(f"this is {BOMB}") | WholeText()


def retrying():
    model = Unsteady(script=["half an …", "an answer", "an answer"])
    return PROMPT | model.with_retry(wait_exponential_jitter=False) | StrOutputParser()


def repeating_at_once(given):
    text = getattr(given, "text", given)
    yield f"{text} "
    yield text


async def repeating(given):
    async for each in given:
        yield f"You said {each}."


def falling_back():
    first = Unsteady(script=["half an …"])
    return PROMPT | first.with_fallbacks([says("an answer")]) | StrOutputParser()


def answering():
    return PROMPT | says("the long answer") | StrOutputParser()


def listing():
    return PROMPT | says("one, two") | CommaSeparatedListOutputParser()


def remembering(chain):
    prompt = ChatPromptTemplate.from_messages(
        [MessagesPlaceholder("history"), ("human", "{question}")]
    )
    with_history = RunnableLambda(lambda given: {"question": str(prompt.invoke(given))}) | chain
    histories = {}

    def history(session_id):
        return histories.setdefault(session_id, InMemoryChatMessageHistory())

    return ASKED | RunnableWithMessageHistory(
        with_history, history, input_messages_key="question", history_messages_key="history"
    )


def remembering_messages(graph):
    histories = {}

    def history(session_id):
        return histories.setdefault(session_id, InMemoryChatMessageHistory())

    return RunnableWithMessageHistory(
        graph, history, input_messages_key="messages", output_messages_key="messages"
    )


async def _returns(answer):
    return answer


def in_a_branch(chain):
    return ASKED | RunnableBranch((lambda given: bool(given["question"]), chain), answering())


def chosen(chain):
    return ASKED | RunnableLambda(lambda _: chain)


def behind_another(chain):
    return ASKED | (PROMPT | Unsteady(script=["half …"])).with_fallbacks([chain])


def as_a_key(chain):
    return ASKED | RunnablePassthrough.assign(answer=chain).pick("answer")


def then_nothing(chain):
    return ASKED | chain | RunnablePassthrough()


def before_a_model(chain):
    return ASKED | RunnablePassthrough.assign(question=chain) | answering()


def parsed():
    return PROMPT | says('{"answer": "one two three"}') | JsonOutputParser()


def called():
    config = RunnableConfig(configurable={"session_id": "bare"})

    async def bare(runnable):
        return await runnable.ainvoke("hello", config)

    return bare


def blocked_once():
    """The first message of the model is blocked; its retries are around the model only."""
    model = says(BOMB, "fine").with_retry(wait_exponential_jitter=False)
    return PROMPT | model | StrOutputParser() | RunnablePassthrough(refuse_bombs)


def recursive():
    def again(text):
        return text if "better" in text else chain

    chain = RunnableLambda(lambda _: "hi") | says("good", "better") | StrOutputParser()
    chain = chain | RunnableLambda(again)
    return chain


def routed_by_json():
    classify = PROMPT | says('{"topic": "cats"}') | JsonOutputParser()
    return ASKED | {"topic": classify, "question": lambda given: given["question"]} | answering()


class Refusing(Runnable):
    """Refuses a text that it gets as a whole."""

    def invoke(self, given, config=None, **kwargs):
        refuse_bombs(str(given))
        return given


class RefusingLate(Refusing):
    """Refuses a text that it has passed on."""

    async def atransform(self, chunks, config=None, **kwargs):
        text = ""
        async for chunk in chunks:
            text += chunk
            yield chunk
        refuse_bombs(text)


class Passing(Runnable):
    """Checks what it returns, but passes on what it gets if it is streamed."""

    def invoke(self, given, config=None, **kwargs):
        return "I cannot help." if "bomb" in given else given

    async def atransform(self, chunks, config=None, **kwargs):
        async for chunk in chunks:
            yield chunk


class Around(Runnable):
    """Checks what a chain returns, but passes its stream on."""

    def __init__(self, chain):
        self.chain = chain

    def invoke(self, given, config=None, **kwargs):
        raise NotImplementedError

    async def ainvoke(self, given, config=None, **kwargs):
        return Passing().invoke(await self.chain.ainvoke(given, config))

    async def astream(self, given, config=None, **kwargs):
        async for chunk in self.chain.astream(given, config):
            yield chunk


def passing():
    return PROMPT | says(BOMB) | StrOutputParser() | Passing()


def around():
    return Around(PROMPT | says(BOMB) | StrOutputParser())


def routed(chain):
    return RunnableLambda(lambda text: {"key": "it", "input": {"question": text}}) | RouterRunnable(
        {"it": chain}
    )


class ChecksGenerate(Scripted):
    async def agenerate(self, *args, **kwargs):
        result = await super().agenerate(*args, **kwargs)
        result.generations[0][0].message = AIMessage("I cannot help.")
        return result


class ChecksPrompts(Scripted):
    async def agenerate_prompt(self, *args, **kwargs):
        result = await super().agenerate_prompt(*args, **kwargs)
        result.generations[0][0].message = AIMessage("I cannot help.")
        return result


PLACES = [remembering, in_a_branch, chosen, as_a_key, then_nothing]

PROGRAMS = [
    *(
        Program(
            name=f"a parser checks the text, {place.__name__}",
            target=lambda place=place: place(checking()),
            bare=called(),
            blocked=BOMB,
        )
        for place in (*PLACES, behind_another, routed)
    ),
    *(
        Program(
            name=f"a class changes only what it returns, {chain.__name__} {place.__name__}",
            target=lambda place=place, chain=chain: place(chain()),
            bare=called(),
            blocked=BOMB,
        )
        for place in (*PLACES, behind_another, routed)
        for chain in (passing, around)
    ),
    *(
        Program(
            name=f"a model that {kind.__name__}",
            target=lambda kind=kind: PROMPT | kind(script=[BOMB]) | StrOutputParser(),
            bare=called(),
            blocked=BOMB,
        )
        for kind in (ChecksGenerate, ChecksPrompts)
    ),
    *(
        Program(
            name=f"{chain.__name__} {place.__name__}",
            target=lambda place=place, chain=chain: place(chain()),
            bare=called(),
        )
        for place in (*PLACES, before_a_model)
        for chain in (retrying, falling_back)
    ),
    *(
        Program(name=chain.__name__.replace("_", " "), target=chain, bare=called())
        for chain in (recursive, routed_by_json)
    ),
    Program(
        name="a blocked run is not tried again",
        target=lambda: ASKED | blocked_once(),
        bare=lambda _: _returns(None),
        state="rejected",
        blocked=BOMB,
    ),
    *(
        Program(
            name=f"{name} refuses the text",
            target=target,
            bare=lambda _: _returns(None),
            state="rejected",
            blocked=BOMB,
        )
        for name, target in (
            (
                "a class beside it",
                lambda: (
                    ASKED
                    | RunnablePassthrough.assign(answer=PROMPT | says(BOMB) | StrOutputParser())
                    | RunnablePassthrough.assign(checked=Refusing())
                    | RunnablePick("answer")
                ),
            ),
            (
                "a class at its end",
                lambda: PROMPT | says(BOMB) | StrOutputParser() | RefusingLate(),
            ),
        )
    ),
    Program(
        name="a key of JSON",
        target=lambda: ASKED | parsed() | RunnablePick("answer"),
        bare=called(),
    ),
    Program(
        name="a history around an agent",
        target=lambda: remembering_messages(agent("an answer")),
        bare=lambda _: _returns("an answer"),
    ),
    Program(
        name="a file between texts, after a fallback",
        target=lambda: Unsteady(script=["half an …"]).with_fallbacks(
            [says(AIMessage([LOOK, IMAGE, THERE]))]
        ),
        bare=drawn,
    ),
    Program(
        name="a generator that blocks, as a function",
        target=lambda: RunnableLambda(repeating_at_once),
        bare=called(),
    ),
    Program(
        name="a generator that blocks, behind a model",
        target=lambda: Scripted(script=["It rains."]) | RunnableLambda(repeating_at_once),
        bare=called(),
    ),
    Program(
        name="a generator by itself", target=lambda: RunnableGenerator(repeating), bare=called()
    ),
    Program(name="JSON, then nothing", target=lambda: then_nothing(parsed()), bare=called()),
]


@in_each_way
@pytest.mark.parametrize("program", PROGRAMS, ids=str)
async def test_answers_are_those_of_the_call(program, ways, tmp_path, caplog):
    await check(program, ways, tmp_path, caplog)


@pytest.mark.parametrize(
    "chain",
    [
        lambda: before_a_model(answering()),
        lambda: before_a_model(listing()),
        lambda: ASKED | RunnablePassthrough.assign(context=lambda _: "a page") | answering(),
        lambda: ASKED | answering() | {"question": lambda joke: joke.upper()} | answering(),
        lambda: remembering(answering()),
        lambda: in_a_branch(answering()),
        lambda: remembering(RunnablePassthrough.assign(question=listing()) | answering()),
        lambda: chosen(answering()),
    ],
)
async def test_chains_stream_if_nothing_checks_their_last_model(chain):
    assert deltas(await ask(adapt(chain()), "hi")) == ["the", " long", " answer"]
