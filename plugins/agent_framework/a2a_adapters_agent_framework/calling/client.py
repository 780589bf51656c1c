"""A remote agent as a chat client."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from agent_framework import (
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)

from a2a_adapters import (
    AgentReply,
    ConfigurationError,
    File,
    Part,
    Question,
    RemoteAgent,
    Text,
    TextDelta,
)
from a2a_adapters.plugin import dialogue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from a2a_adapters.plugin import AgentOptions

_GO_ON = Text("Please go on.")
_CORRECTED = "corrected_text"
"""The additional property of the last update of an answer whose streamed text was corrected."""

QUESTION = "a2a_question"
"""The additional property that holds the question with which a remote agent's text ends."""

_SPEAKERS = {"system": "System", "user": "User", "assistant": "Assistant"}


class A2AChatClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], BaseChatClient[Any]):
    """Any A2A agent as a chat client: `Agent(client=A2AChatClient("http://localhost:8000"))`.

    Such an agent can be a member of workflows and a tool of other agents. The remote agent keeps
    the conversation, which is the `service_session_id` of the session: each call sends only new
    messages. A question is returned as the answer, and the next message of the session answers it.
    One client serves any number of sessions.

    If the agent corrects text that it has streamed, the response has the corrected text. Updates
    cannot be withdrawn: the last one of a stream has it as the property "corrected_text".

    The remote agent has its own tools and accepts none. Data of an answer is given as text.

    Args:
        agent: The agent, or its URL.
        **options: Options for an agent given by its URL; see `AgentOptions`.
    """

    STORES_BY_DEFAULT = True  # the remote agent keeps the conversation

    def __init__(self, agent: RemoteAgent | str, **options: Unpack[AgentOptions]) -> None:
        super().__init__()
        self._agent = RemoteAgent.of(agent, **options)

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        """Return the agent's answer (called by the framework).

        Raises:
            ConfigurationError: The agent of the framework has tools.
            RemoteAgentError: The agent does not answer.
        """
        if options.get("tools") or options.get("response_format"):
            raise ConfigurationError(
                "a remote agent has its own tools and takes none: remove the tools, and the "
                "response_format, of the agent whose client is an A2AChatClient"
            )
        answer: ResponseStream[ChatResponseUpdate, ChatResponse[Any]] = ResponseStream(
            self._updates(messages, options), finalizer=_response
        )
        return answer if stream else answer.get_final_response()

    async def _updates(
        self, messages: Sequence[Message], options: Mapping[str, Any]
    ) -> AsyncGenerator[ChatResponseUpdate]:
        context_id, _, task_id = (options.get("conversation_id") or "").partition(" ")
        # Only a new conversation hears the instructions.
        given = None if context_id else options.get("instructions")
        parts = _parts(messages, given)
        events = self._agent.stream(parts, context_id=context_id, task_id=task_id)
        async for event in events:
            if isinstance(event, TextDelta):
                asked = isinstance(event, Question)
                properties = {QUESTION: event.text.strip()} if asked else None
                text = Content.from_text(event.text, additional_properties=properties)
                yield ChatResponseUpdate(contents=[text], role="assistant")
            elif isinstance(event, AgentReply):
                yield ChatResponseUpdate(
                    contents=list(_rest(event)),
                    role="assistant",
                    conversation_id=_place(event),
                    finish_reason="stop",
                    additional_properties=_correction(event),
                )


def _response(updates: Sequence[ChatResponseUpdate]) -> ChatResponse[Any]:
    """Join the updates of an answer; its text may have been corrected."""
    response: ChatResponse[Any] = ChatResponse.from_updates(updates)
    whole = (updates[-1].additional_properties or {}).get(_CORRECTED) if updates else None
    if whole is not None:
        message = response.messages[-1]
        others = [content for content in message.contents if content.type != "text"]
        message.contents = [Content.from_text(whole), *others]
    return response


def _correction(reply: AgentReply) -> dict[str, str] | None:
    if not reply.is_corrected:
        return None
    return {_CORRECTED: "\n".join(filter(None, (reply.text, reply.data_text)))}


def _place(reply: AgentReply) -> str:
    """Return the place in the conversation after an answer: its context, and an open question."""
    return f"{reply.context_id} {reply.task_id}" if reply.is_question else reply.context_id


def _rest(reply: AgentReply) -> Iterator[Content]:
    """Yield the end of an answer: data as text, files, and the usage."""
    if reply.data_text:
        yield Content.from_text(f"\n{reply.data_text}" if reply.text else reply.data_text)
    for part in reply.parts:
        if isinstance(part, File):
            yield _file(part)
    if usage := reply.counted_usage(__name__):
        yield Content.from_usage(
            {
                "input_token_count": usage.input_tokens,
                "output_token_count": usage.output_tokens,
                "total_token_count": usage.total_tokens,
            }
        )


def _file(file: File) -> Content:
    media_type = file.guess_media_type()
    if file.content is None:
        return Content.from_uri(file.url or "", media_type=media_type)
    return Content.from_data(file.content, media_type, name=file.filename or None)


def _parts(messages: Sequence[Message], instructions: str | None) -> list[Part]:
    """Convert messages to the parts of one message, a dialogue unless the user wrote them all."""
    turns = [
        (_SPEAKERS.get(message.role, "User"), list(_converted(message))) for message in messages
    ]
    if instructions:
        turns.insert(0, ("System", [Text(instructions)]))
    return dialogue([turn for turn in turns if turn[1]]) or [_GO_ON]


def _converted(message: Message) -> Iterator[Part]:
    for content in message.contents:
        media_type, filename = content.media_type or "", content.name or ""
        if content.type == "text" and content.text:
            yield Text(content.text)
        elif content.type == "data":
            encoded = (content.uri or "").partition(",")[2]
            yield File(content=b64decode(encoded), media_type=media_type, filename=filename)
        elif content.type == "uri":
            yield File(url=content.uri, media_type=media_type, filename=filename)
