"""An agent that uses what a page of CopilotKit offers."""

from __future__ import annotations

from a2a_adapters_ag_ui import FrontEnd

from a2a_adapters import InputRequired, Progress, ToolCall, ToolResult, as_decision


async def travel(request):
    """Plan trips."""
    front = FrontEnd.of(request)
    if "colour" in request.text:
        result = yield front.call("setColour", {"colour": "rgb(200, 255, 200)"})
        yield f"The page says: {result.text}."
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
