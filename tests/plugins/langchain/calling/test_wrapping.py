"""Models under LangChain's wrappers: bindings, configuration, retries, fallbacks, caches."""

from __future__ import annotations

import copy
import pickle

import pytest
from a2a_adapters_langchain import A2ALLM, A2AChatModel, A2ATool
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import FakeListChatModel
from langchain_core.load import dumpd
from langchain_core.messages import HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.runnables import ConfigurableField, RunnableLambda

from a2a_adapters import RemoteAgent, RemoteConnectionError, RemoteOptions
from tests.plugins.langchain.calling.support import Memory, words

NOBODY = "http://127.0.0.1:9"


def nobody():
    return RemoteAgent(NOBODY, options=RemoteOptions(retries=0))


@pytest.fixture
def global_cache():
    cache = InMemoryCache()
    set_llm_cache(cache)
    yield cache
    set_llm_cache(None)


async def test_bound_configurations_set_the_thread(serve):
    memory = Memory()
    agent = RemoteAgent(serve(memory.answer))
    config = {"configurable": {"thread_id": 7}}
    for model in (A2AChatModel(agent=agent), A2ALLM(agent=agent)):
        bound = model.with_config(config)
        bound.invoke("x")
        await bound.ainvoke("x")
        list(bound.stream("x"))
        [chunk async for chunk in bound.astream("x")]
        bound.batch(["x", "y"])
        await bound.abatch(["x", "y"])
    assert len(memory.contexts) == 1
    assert len(memory.requests) == 16


async def test_chains_pass_the_thread_on(serve):
    memory = Memory()
    model = A2AChatModel(agent=serve(memory.answer))
    chain = ChatPromptTemplate.from_template("Say {word}") | model | StrOutputParser()
    within = RunnableLambda(lambda word: chain.invoke({"word": word}))
    config = {"configurable": {"thread_id": "t"}}
    assert chain.invoke({"word": "a"}, config) == "0 Say a"
    assert await chain.ainvoke({"word": "b"}, config) == "1 Say b"
    assert within.invoke("c", config) == "2 Say c"
    assert "".join([c async for c in chain.astream({"word": "d"}, config)]) == "3 Say d"
    llm = PromptTemplate.from_template("Say {word}") | A2ALLM(agent=model.agent)
    assert await llm.ainvoke({"word": "e"}, config) == "4 Say e"


async def test_configurable_fields(serve):
    one, two = serve(words, name="One"), serve(Memory().answer)
    model = A2AChatModel(agent=one).configurable_fields(
        agent=ConfigurableField(id="agent"), context_id=ConfigurableField(id="context")
    )
    assert (await model.ainvoke("hello")).text == "hello"
    other = model.with_config(configurable={"agent": RemoteAgent(two)})
    first = other.invoke("hello")
    assert first.text == "0 hello"
    context_id = first.response_metadata["context_id"]
    again = {"configurable": {"agent": RemoteAgent(two), "context": context_id}}
    assert model.invoke("hello", again).text == "1 hello"
    choice = A2AChatModel(agent=one).configurable_alternatives(
        ConfigurableField(id="which"), other=A2AChatModel(agent=two)
    )
    assert choice.with_config(configurable={"which": "other"}).invoke("hi").text == "0 hi"


async def test_retries_and_fallbacks(serve):
    calls = []

    async def flaky(request):
        calls.append(request.text)
        if len(calls) % 2:
            raise RuntimeError
        yield "at last"

    model = A2AChatModel(agent=serve(flaky)).with_retry(
        stop_after_attempt=2, wait_exponential_jitter=False
    )
    assert model.invoke("go").text == "at last"
    assert (await model.ainvoke("go")).text == "at last"
    safe = A2AChatModel(agent=nobody()).with_fallbacks([FakeListChatModel(responses=["here"])])
    assert safe.invoke("go").text == "here"
    assert (await safe.ainvoke("go")).text == "here"
    with pytest.raises(RemoteConnectionError):
        A2ALLM(agent=nobody()).with_retry(stop_after_attempt=1).invoke("go")


async def test_copies_share_conversations(serve):
    memory = Memory()
    url = serve(memory.answer)
    config = {"configurable": {"thread_id": "t"}}
    model, llm = A2AChatModel(agent=url), A2ALLM(agent=url)
    model.invoke("x", config)
    for each in (copy.deepcopy(model), copy.copy(model), model.model_copy(deep=True)):
        await each.ainvoke("x", config)
    assert len(memory.contexts) == 1
    assert copy.deepcopy(llm).invoke("x") == "0 x"
    tool = A2ATool.from_agent(url)
    assert copy.deepcopy(tool).agent is tool.agent


def test_unsupported_methods_raise():
    model = A2AChatModel(agent=NOBODY)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(model)
    assert dumpd(model)["type"] == "not_implemented"
    assert NOBODY in repr(model)


async def test_answers_are_not_cached(serve, global_cache):
    memory = Memory()
    url = serve(memory.answer)
    for model in (A2AChatModel(agent=url), A2ALLM(agent=url)):
        model.invoke("x")
        await model.ainvoke("x")
    assert len(memory.requests) == 4
    for kind in (A2AChatModel, A2ALLM):
        with pytest.raises(ValueError, match="cache"):
            kind(agent=url, cache=True)


async def test_callbacks_and_limits(serve):
    class Tokens(BaseCallbackHandler):
        def __init__(self):
            self.tokens, self.ends, self.errors = [], [], []

        def on_llm_new_token(self, token, **kwargs):
            self.tokens.append(token)

        def on_llm_end(self, response, **kwargs):
            self.ends.append(response.generations[0][0].text)

        def on_llm_error(self, error, **kwargs):
            self.errors.append(error)

    limiter = InMemoryRateLimiter(requests_per_second=1000, check_every_n_seconds=0.001)
    url = serve(words)
    for model in (A2AChatModel(agent=url, rate_limiter=limiter), A2ALLM(agent=url)):
        handler = Tokens()
        config = {"callbacks": [handler]}
        list(model.stream("one two", config))
        [chunk async for chunk in model.astream("one two", config)]
        assert [token for token in handler.tokens if token] == ["one", " two"] * 2
        await model.ainvoke([HumanMessage("three")], config)
        assert handler.ends[:2] == ["one two"] * 2
        assert handler.ends[2].endswith("three")
    handler = Tokens()
    with pytest.raises(RemoteConnectionError):
        A2AChatModel(agent=nobody()).invoke("x", {"callbacks": [handler]})
    assert isinstance(handler.errors[0], RemoteConnectionError)
