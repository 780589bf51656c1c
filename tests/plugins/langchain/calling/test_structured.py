"""Answers that conform to a schema."""

from __future__ import annotations

import json

import pytest
from a2a_adapters_langchain import A2AChatModel
from langchain.agents import create_agent
from langchain_core.exceptions import OutputParserException
from pydantic import BaseModel, field_validator

from a2a_adapters import ConfigurationError, Data, File, InputRequired, Output
from tests.plugins.langchain.calling.support import PNG


class Trip(BaseModel):
    """A trip."""

    city: str
    nights: int

    @field_validator("city")
    @classmethod
    def _is_known(cls, city: str) -> str:
        if city == "Nowhere":
            raise ValueError("there is no such city")
        return city


ROME = Trip(city="Rome", nights=3)


def declaring(text: str) -> Trip:
    """Plan a trip."""
    assert "schema" not in text
    return ROME


class Scripted:
    """Gives answers in turn, and records the messages."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.heard = []
        self.contexts = set()

    async def answer(self, request):
        self.heard.append(request.text)
        self.contexts.add(request.context_id)
        yield self.answers.pop(0)


async def test_an_agent_that_declares_data_is_not_told_the_schema(serve):
    model = A2AChatModel(agent=serve(declaring)).with_structured_output(Trip)
    assert model.invoke("To Rome") == ROME
    assert await model.ainvoke("To Rome") == ROME
    assert [trip async for trip in model.astream("To Rome")] == [ROME]


FENCED = 'Here:\n```json\n{"city": "Rome", "nights": 3}\n```'
DATA = Output([Data("other"), Data(ROME.model_dump()), File(content=PNG, media_type="image/png")])


@pytest.mark.parametrize("said", [ROME.model_dump_json(), FENCED, DATA], ids=str)
async def test_other_agents_are_told_the_schema(serve, said):
    agent = Scripted(said)
    model = A2AChatModel(agent=serve(agent.answer)).with_structured_output(Trip, method="json_mode")
    assert await model.ainvoke("To Rome") == ROME
    (heard,) = agent.heard
    assert heard.startswith("To Rome")
    assert '"nights"' in heard


async def test_an_answer_that_does_not_conform_is_asked_for_once_more(serve):
    wrong = '{"city": "Rome"}', '{"city": 1, "nights": 1}'
    agent = Scripted("Rome!", ROME.model_dump_json(), *wrong)
    model = A2AChatModel(agent=serve(agent.answer))
    wanted = model.with_structured_output(Trip.model_json_schema())
    assert await wanted.ainvoke("To Rome") == ROME.model_dump()
    assert agent.heard[1].startswith("Your answer does not conform: ")
    assert len(agent.contexts) == 1
    with pytest.raises(OutputParserException, match="1 is not of type 'string'"):
        await wanted.ainvoke("To Rome")
    assert "'nights' is a required property" in agent.heard[3]


async def test_raw_answers_have_the_error(serve):
    agent = Scripted("no", "no", '{"city": "Nowhere", "nights": 1}', ROME.model_dump_json())
    model = A2AChatModel(agent=serve(agent.answer))
    wanted = model.with_structured_output(Trip, include_raw=True)
    refused, unknown, good = [await wanted.ainvoke("go") for _ in range(3)]
    assert refused["parsed"] is None
    assert refused["raw"].text == "no"
    assert isinstance(refused["parsing_error"], OutputParserException)
    assert "no such city" in str(unknown["parsing_error"])
    assert (good["parsed"], good["parsing_error"]) == (ROME, None)


async def test_a_question_is_not_asked_again(serve):
    async def asks(request):
        city = yield InputRequired("Where to?")
        yield Trip(city=city.text, nights=1).model_dump()

    model = A2AChatModel(agent=serve(asks))
    config = {"configurable": {"thread_id": "t"}}
    wanted = model.with_structured_output(Trip)
    with pytest.raises(OutputParserException, match=r"the agent asks: Where to\?"):
        await wanted.ainvoke("Book", config)
    answered = await model.ainvoke("Oslo", config, response_format={"type": "json_object"})
    assert json.loads(answered.text)["nights"] == 1


async def test_agents_of_langchain_have_a_response_format(serve):
    model = A2AChatModel(agent=serve(declaring))
    graph = create_agent(model, response_format=Trip)
    state = await graph.ainvoke({"messages": ["To Rome"]})
    assert state["structured_response"] == ROME


async def test_invalid_arguments_are_refused():
    model = A2AChatModel(agent="http://127.0.0.1:9")
    with pytest.raises(ValueError, match="takes no temperature"):
        model.with_structured_output(Trip, temperature=1)
    invalid = {"type": "json_schema", "json_schema": {"schema": {"type": "nothing"}}}
    for wrong in (invalid, {"type": "text"}, "json"):
        with pytest.raises(ConfigurationError, match="response_format"):
            await model.ainvoke("hi", response_format=wrong)
