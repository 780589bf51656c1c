"""An agent of Agent Framework that asks before it books."""

from __future__ import annotations

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    ResponseStream,
    tool,
)


class Rules(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):
    """Stands in for a language model: books, and reports the result."""

    def _inner_get_response(self, *, messages, stream, **_):
        answer = ResponseStream(self._updates(messages[-1]), finalizer=ChatResponse.from_updates)
        return answer if stream else answer.get_final_response()

    async def _updates(self, last):
        results = [each.result for each in last.contents if each.type == "function_result"]
        if results:
            content = Content.from_text(str(results[0]))
        else:
            given = {"city": last.text.partition(":")[0]}
            content = Content.from_function_call("1", "book", arguments=given)
        yield ChatResponseUpdate(contents=[content], role="assistant")


@tool(approval_mode="always_require")
def book(city: str) -> str:
    """Book a trip."""
    return f"A trip to {city} is booked."


clerk = Agent(client=Rules(), name="clerk", description="Books trips.", tools=[book])
