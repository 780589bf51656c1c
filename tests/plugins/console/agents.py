"""Agents for the tests of the console.

`python -m tests.plugins.console.agents STORAGE PORT` serves one in a process that tests kill.
"""

from __future__ import annotations

import asyncio
import json
import struct
import sys
import zlib

from a2a_adapters import (
    AgentRequest,
    Data,
    File,
    InputRequired,
    Output,
    Progress,
    ServerOptions,
    TaskMetadata,
    TextDelta,
    TokenUsage,
    ToolCall,
    ToolResult,
    serve,
)
from a2a_adapters.plugin import AnswerText

JOURNEY = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "title": "City", "enum": ["Lisbon", "Oslo"]},
        "nights": {"type": "integer", "title": "Nights", "minimum": 1, "default": 3},
        "window": {"type": "boolean", "title": "At the window"},
        "note": {"type": "string", "title": "Note"},
    },
    "required": ["city", "nights"],
}

TRAINS = {
    "title": "Trains",
    "type": "array",
    "items": {"properties": {"train": {"description": "Its number"}}},
}

PLAN = """\
Three ways lead from **Berlin** to **Lisbon**; the second is *quicker* by far.

1. By day, with a stop in [Paris](https://example.org/paris)
2. By night, through Zurich

> Book early: `seats` are few.
"""


def picture(width=240, height=96):
    """Return a PNG with a horizontal gradient."""
    rows = b"".join(
        b"\0" + b"".join(bytes((70 + x // 2, 90 + y // 2, 214)) for x in range(width))
        for y in range(height)
    )

    def chunk(kind, content):
        crc = struct.pack(">I", zlib.crc32(kind + content))
        return struct.pack(">I", len(content)) + kind + content + crc

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


async def travel(request: AgentRequest):
    """Plans journeys by train, and asks for details."""
    yield ToolCall("1", "search_trains", {"from": "Berlin", "to": "Lisbon"})
    yield ToolResult("1", "search_trains", [{"train": "ICE 73", "hours": 27}])
    yield Progress("Comparing prices")
    for word in PLAN.split(" "):
        yield TextDelta(f"{word} ")
    trains = [
        {"train": "ICE 73", "hours": 27, "price": {"euro": 199}},
        {"train": "EN 472", "hours": 24, "price": {"euro": 149}},
    ]
    yield Output([Data(trains, schema=TRAINS)], name="trains")
    yield Output([File(content=picture(), media_type="image/png", filename="map.png")], name="map")
    if "book" not in request.text:
        return
    answer = yield InputRequired("What shall I book?", [Data({"response_schema": JOURNEY})])
    [chosen] = [part.value for part in answer.parts if isinstance(part, Data)]
    yield f"\n\nBooked: {chosen['nights']:g} nights in {chosen['city']}."


async def clerk(request: AgentRequest):
    """Asks for a name."""
    answer = yield InputRequired("What is your name?")
    yield f"Hello {answer.text}!"


async def approver(request: AgentRequest):
    """Asks before it acts."""
    review = {
        "action_requests": [],
        "review_configs": [{"allowed_decisions": ["approve", "reject"]}],
    }
    answer = yield InputRequired("Shall I delete it?", [Data({"value": review})])
    yield f"You said {answer.text}."


async def chooser(request: AgentRequest):
    """Asks as a graph of LangGraph does."""
    value = {"question": "Which colour?", "options": ["red", "green"], "price": 3}
    schema = {"enum": value["options"]}
    asked = {"interrupt_id": "i1", "value": value, "response_schema": schema}
    answer = yield InputRequired("Which colour?", [Data(asked)])
    yield f"You chose {answer.data[0]}."


async def reviewer(request: AgentRequest):
    """Asks for a review as HumanInTheLoopMiddleware does."""
    action = {"name": "mail", "args": {"to": "Ann", "count": 2}, "description": "Mail Ann twice"}
    review = {
        "action_requests": [action],
        "review_configs": [{"action_name": "mail", "allowed_decisions": ["approve", "edit"]}],
    }
    asked = Data({"interrupt_id": "i1", "value": review})
    answer = yield InputRequired("Mail Ann twice\n\nPlease reply with: approve.", [asked])
    yield f"You said {json.dumps(answer.data)}"


async def drafter(request: AgentRequest):
    """Corrects what it has said, also before it asked."""
    yield TextDelta("A raw draft.")
    yield AnswerText("A draft.")
    yield InputRequired("Send it?")
    yield AnswerText("An edit.\n\nSent.", of_task=True)


ANALYSIS = r'''The demand falls with the price; the **best price** follows from
the elasticity $\epsilon$:

$$p^* = \frac{\epsilon}{\epsilon - 1} \cdot c$$

```python
def best_price(cost: float, elasticity: float) -> float:
    """Return the price with the highest profit."""
    return cost * elasticity / (elasticity - 1)
```

| product | cost | price |
|---------|-----:|------:|
| Coffee  | 1.20 |  2.40 |
| Tea     | 0.80 |  1.90 |
'''


async def analyst(request: AgentRequest):
    """Answers questions about prices."""
    yield Progress("Reading the sales of the year")
    yield ToolCall("1", "query", {"table": "sales", "year": 2026})
    await asyncio.sleep(0.3)
    yield ToolResult("1", "query", {"rows": 365})
    yield ToolCall("2", "fit_demand", {"model": "log-log"})
    await asyncio.sleep(0.5)
    yield ToolResult("2", "fit_demand", {"elasticity": 2.0})
    cost = {"cost_envelope": {"estimated": 0.01, "actual": 0.00213, "currency": "USD"}}
    yield TaskMetadata(TokenUsage(1200, 34, 1234).as_metadata() | cost)
    yield ANALYSIS


async def endless(request: AgentRequest):
    """Counts until it is stopped."""
    count = 0
    while True:
        count += 1
        yield TextDelta(f"{count} ")
        await asyncio.sleep(0.05)


GO_ON = asyncio.Event()
"""What agents wait for, until the test sets it."""


async def patient(request: AgentRequest):
    """Takes a while."""
    await GO_ON.wait()
    yield f"It was {request.text}."


async def slow_clerk(request: AgentRequest):
    """Asks for a name after a while."""
    await GO_ON.wait()
    answer = yield InputRequired("What is your name?")
    yield f"Hello {answer.text}!"


async def copier(request: AgentRequest):
    """Returns the received parts."""
    yield Output(request.parts, name="what came")


HOSTILE = (
    "<script>window.harmed = 1</script> <img src=x onerror='window.harmed = 2'>\n\n"
    "[click](javascript:window.harmed=3) [data](data:text/html,<script>1</script>) "
    "![pixel](https://tracker.example/pixel.png)\n\n"
    "pay \u202eecila\u202c now\u200b, \U000e0041"
)
"""Hostile content for readers of an agent's answer."""


async def hostile(request: AgentRequest):
    """<script>window.harmed = 4</script> sends hostile content."""
    yield ToolCall("<b>1</b>", "<img src=x onerror='window.harmed = 5'>", {"<i>": "\u202e"})
    yield HOSTILE
    value = {"<script>window.harmed = 6</script>": "<b>bold</b>", "__proto__": {"harmed": 7}}
    yield Output([Data(value, schema={"title": "<u>title</u>", "properties": [1]})], name="<s>")
    page = b"<script>window.harmed = 8</script>"
    yield Output([File(content=page, media_type="text/html", filename="<b>page.html")])
    yield Output([File(content=page, media_type="image/svg+xml", filename="page.svg")])
    yield Output([File(url="javascript:window.harmed=9", filename="there")])
    yield InputRequired(
        "Your <b>secret</b>?",
        [Data({"response_schema": {"properties": {"<b>x</b>": {"type": ["string", "null"]}}}})],
    )


async def talker(request: AgentRequest):
    """Sends excessive text."""
    yield "word [[[((( **" * 200_000


async def unseen(request: AgentRequest):
    """Sends only invisible characters."""
    yield "\u200b" * 195_000


AGENTS = {
    agent.__name__: agent
    for agent in (
        travel,
        clerk,
        drafter,
        approver,
        chooser,
        reviewer,
        analyst,
        endless,
        patient,
        slow_clerk,
        copier,
        hostile,
        talker,
        unseen,
    )
}


if __name__ == "__main__":
    storage, port = sys.argv[1:]
    serve(endless, port=int(port), options=ServerOptions(storage=storage, console=True))
