"""An agent that uses what a page of CopilotKit offers."""

from __future__ import annotations

from a2a_adapters_ag_ui import FrontEnd

from a2a_adapters import (
    Data,
    InputRequired,
    Output,
    Progress,
    Rejected,
    ServerOptions,
    Text,
    ToolCall,
    ToolResult,
    serve,
)
from a2a_adapters.plugin import A2UI_EXTENSION, Extension, as_decision

CATALOG = "https://a2ui.org/specification/v0_9/basic_catalog.json"
CLOCK = [
    {"version": "v0.9.1", "createSurface": {"surfaceId": "clock", "catalogId": CATALOG}},
    {
        "version": "v0.9.1",
        "updateComponents": {
            "surfaceId": "clock",
            "components": [
                {"id": "root", "component": "Column", "children": ["time", "later"]},
                {"id": "time", "component": "Text", "text": "It is noon in Rome."},
                {
                    "id": "later",
                    "component": "Button",
                    "child": "word",
                    "action": {"event": {"name": "later", "context": {}}},
                },
                {"id": "word", "component": "Text", "text": "And later?"},
            ],
        },
    },
]


async def travel(request):
    """Plan trips."""
    front = FrontEnd.of(request)
    if "moon" in request.text:
        yield Rejected("I only plan trips on Earth.")
        return
    if "colour" in request.text:
        result = yield front.call("setColour", {"colour": "rgb(200, 255, 200)"})
        yield f"The page says: {result.text}."
        return
    if "time" in request.text:
        yield Output([Text("Noon."), Data(CLOCK)])
        return
    for part in request.parts:
        if isinstance(part, Data):
            yield f"You pressed {part.value[0]['action']['name']}."
            return
    yield Progress("Looking for flights to Rome.")
    yield ToolCall("1", "flights", {"to": "Rome"})
    yield ToolResult("1", "flights", [{"flight": "AZ 1", "price": 120}])
    yield front.update({"city": "Rome", "price": 120})
    answer = yield InputRequired("There is a flight to Rome for 120 euros. Shall I book it?")
    if (as_decision(answer.text) or (False,))[0]:
        yield front.update({"city": "Rome", "price": 120, "booked": True})
        yield "Booked. Have a good trip to **Rome**!"
    else:
        yield "As you like: nothing is booked."


if __name__ == "__main__":
    a2ui = Extension(uri=A2UI_EXTENSION, params={"supportedCatalogIds": [CATALOG]})
    options = ServerOptions(extensions=[a2ui])
    serve({"travel": travel}, port=0, dialects=["ag-ui"], options=options)
