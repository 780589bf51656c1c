"""Functions with typed parameters and results."""

from __future__ import annotations

import functools
import json
import typing
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import date

import httpx
import pytest
import typing_extensions
from a2a.utils.errors import InvalidParamsError
from a2a_adapters_functions import FunctionAdapter
from pydantic import BaseModel, Field

from a2a_adapters import AgentRequest, Data, Rejected, RemoteAgent, TargetError, build_app
from a2a_adapters.protocol.conversion import from_protocol, to_protocol
from a2a_adapters.testing import connect, running, send, user_message


class Item(BaseModel):
    sku: str
    count: int = Field(ge=1)


class Order(BaseModel):
    customer: str
    items: list[Item]
    by: date | None = None


@dataclass
class Point:
    x: int
    y: int = 0


class Inner(typing.TypedDict):
    n: int


class Mapped(typing.TypedDict, total=False):
    name: typing_extensions.Required[str]
    inner: list[Inner]


def order(order: Order) -> dict[str, int]:
    """Book an order."""
    assert isinstance(order, Order)
    return {item.sku: item.count for item in order.items}


def point(at: Point) -> Point:
    return Point(at.y, at.x)


def mapped(value: Mapped) -> list[Inner]:
    return value.get("inner", [])


def two(city: str, days: int = 3) -> str:
    return f"{days} days in {city}"


def several(place: Point, /, when: date, *, tags: list[str], loud: bool = False) -> list[object]:
    return [place.x, when.isoformat(), tags, loud]


def one_number(number: int) -> int:
    return number + 1


def on(day: date) -> str:
    return f"{day:%d.%m.}"


def with_request(request: AgentRequest, at: Point) -> list[object]:
    return [request.text, at.x]


async def streamed(at: Point, times: int = 1) -> AsyncIterator[str]:
    for _ in range(times):
        yield f"{at.x} "


ORDER = {"customer": "Ann", "items": [{"sku": "pen", "count": 2}]}


async def call(function, text="", *data):
    """Serve a function, send text and data, and return the value of the answer's first part."""
    async with running(build_app(function)) as url, connect(url) as client:
        task = await send(client, user_message(text, *to_protocol([Data(d) for d in data])))
    assert task.artifacts, task.status
    part = from_protocol(task.artifacts[0].parts[0])
    return part.value if isinstance(part, Data) else part.text


@pytest.mark.parametrize(
    ("function", "sent", "answer"),
    [
        (order, ("", ORDER), {"pen": 2}),
        (order, (json.dumps(ORDER),), {"pen": 2}),
        (point, ("", {"x": 1, "y": 2}), {"x": 2, "y": 1}),
        (mapped, ("", {"name": "a", "inner": [{"n": 1}]}), [{"n": 1}]),
        (two, ("Rome",), "3 days in Rome"),
        (two, ("Rome", {"days": 5}), "5 days in Rome"),
        (two, ("", {"city": "Rome", "days": 5}), "5 days in Rome"),
        (two, ('{"city": "Rome", "days": 5}',), "5 days in Rome"),
        (two, ('{"about": "JSON"}',), '3 days in {"about": "JSON"}'),
        (
            several,
            ("", {"place": {"x": 1}, "when": "2026-01-02", "tags": ["a"]}),
            [1, "2026-01-02", ["a"], False],
        ),
        (one_number, ("4",), 5),
        (one_number, ("", 4), 5),
        (one_number, ("", {"number": 4}), 5),
        (on, ("2026-01-02",), "02.01."),
        (with_request, ("hello", {"x": 1}), ["hello", 1]),
        (streamed, ("", {"at": {"x": 1}, "times": 2}), "1 1 "),
        (functools.partial(two, days=9), ("Rome",), "9 days in Rome"),
    ],
)
async def test_arguments_are_read_from_data_and_text(function, sent, answer):
    assert await call(function, *sent) == answer


@pytest.mark.parametrize(
    ("function", "sent", "named"),
    [
        (order, ("", {"customer": "Ann", "items": [{"sku": "pen", "count": 0}]}), "items.0.count"),
        (order, ("", {"customer": "Ann"}), "items: Field required"),
        (order, ("two pens, please",), "order: "),
        (two, ("", {"days": 5}), "city: Field required"),
        (two, ("Rome", {"dayz": 5}), "dayz: "),
        (two, ("Rome", {"days": "many"}), "days: "),
        (two, ("Rome", {"city": "Oslo"}), "days: "),
        (several, ("now", {"when": "2026-01-02"}), "the meaning of the text is unclear"),
        (point, ("", {"x": 1}, {"x": 2}), "at"),
    ],
)
async def test_refusals_name_the_invalid_field(function, sent, named):
    with pytest.raises(InvalidParamsError, match=named):
        await call(function, *sent)


@pytest.mark.parametrize("version", ["1.0", "0.3"])
async def test_cards_have_the_schemas(version):
    async with running(build_app(order)) as url, httpx.AsyncClient() as http:
        response = await http.get(url + "/.well-known/agent-card.json")
    card = response.json()
    [skill] = card["skills"]
    for text in (card["description"], skill["description"]):
        assert text.startswith("Book an order.")
        takes, returns = (json.loads(line[line.index("{") :]) for line in text.splitlines()[1:])
        assert takes["required"] == ["customer", "items"]
        assert takes["$defs"]["Item"]["properties"]["count"] == {"minimum": 1, "type": "integer"}
        assert returns == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert "application/json" in card["defaultInputModes"]


def test_several_parameters_have_one_schema_without_defaults():
    [skill] = FunctionAdapter(two).describe().skills
    assert skill.input_schema == {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    assert skill.output_schema is None


async def test_results_have_the_schema_of_their_annotation():
    def nearest(at: Point) -> list[Mapped] | Rejected:
        return [{"name": "home"}] if at.x else Rejected("nowhere")

    async with running(build_app(nearest)) as url, RemoteAgent(url) as agent:
        [part] = (await agent.send(Data({"x": 1}))).parts
    assert part.metadata["json_schema"]["items"] == {"$ref": "#/$defs/Mapped"}
    assert part.value == [{"name": "home"}]


async def test_results_that_do_not_match_the_annotation_have_no_schema(caplog):
    def wrong(at: Point) -> list[Inner]:
        return [{"n": "x"}]

    async with running(build_app(wrong)) as url, RemoteAgent(url) as agent:
        [part] = (await agent.send(Data({"x": 1}))).parts
    assert part.value == [{"n": "x"}]
    assert not part.metadata
    assert "wrong did not return what its annotation says: 0.n: " in caplog.text


class Connection:
    """A type that JSON cannot express."""


def hidden(
    text: str,
    connection: Connection | None = None,
    limit=5,
    _cache: dict[str, str] | None = None,
) -> str:
    return f"{text}{limit}"


@pytest.mark.parametrize("function", [hidden, functools.partial(two, days=9)])
def test_callers_cannot_set_internal_parameters(function):
    assert FunctionAdapter(function).describe().input_modes == ("text/plain",)


def unknown(value: NotThere) -> str:  # noqa: F821 - the point
    return ""


def connected(connection: Connection) -> str:
    return ""


@pytest.mark.parametrize(
    ("function", "why"),
    [(unknown, "NotThere"), (connected, "Connection"), (lambda a, b: a, "annotate")],
)
def test_unsupported_types_are_refused(function, why):
    with pytest.raises(TargetError, match=why):
        FunctionAdapter(function)
