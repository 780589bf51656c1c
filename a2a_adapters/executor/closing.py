"""Decides how the text of an answer is closed.

Most clients join the chunks of a stream, some whatever `append` says: for them the last chunk is
empty. Two readers need the whole text in it, in place of all chunks before:

- google-adk's `RemoteA2aAgent` takes the last chunk for the whole answer, and the others for a
  preview (seen in 2.13);
- a2a-sdk's own server stores each chunk as a part of its own, which readers of the whole task see
  as separate lines (seen in 1.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a.server.agent_execution import RequestContext
    from a2a.types import Message

_ADK_EXTENSION = "https://google.github.io/adk-docs/a2a/a2a-extension/"
_ADK_MARK = "is_user_input"
"""In the metadata of each part from a user of google-adk's client."""

_STREAMS = frozenset({"SendStreamingMessage", "message/stream"})


def closes_by_whole(context: RequestContext, *, is_ours: bool) -> bool:
    """Return whether the last chunk of an answer has to hold the whole text.

    Args:
        context: The request.
        is_ours: Whether our runtime joins the chunks.
    """
    if not is_ours and not _is_streamed(context):
        return True
    if _ADK_EXTENSION in context.requested_extensions:
        return True
    said = context.current_task.history[:1] if context.current_task else ()
    return any(map(_is_of_adk, [*said, *([context.message] if context.message else [])]))


def _is_streamed(context: RequestContext) -> bool:
    """Return whether the answer is known to be read as a stream, on a2a-sdk's server."""
    state = context.call_context.state
    headers = state.get("headers") or {}
    return state.get("method") in _STREAMS or "text/event-stream" in headers.get("accept", "")


def _is_of_adk(message: Message) -> bool:
    return any(part.HasField("metadata") and _ADK_MARK in part.metadata for part in message.parts)
