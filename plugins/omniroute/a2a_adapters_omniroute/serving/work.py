"""Runs an agent for a task and converts its output to the dialect."""

from __future__ import annotations

import asyncio
import base64
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from a2a.types import CancelTaskRequest
from a2a.utils.errors import A2AError, ContentTypeNotSupportedError, InvalidParamsError

from a2a_adapters import Data, File, Part, Text, TextDelta
from a2a_adapters.dialects import Answer, correction, is_busy
from a2a_adapters.plugin import as_text
from a2a_adapters_omniroute.serving.refusals import (
    FAILED,
    INVALID_PARAMS,
    NO_PROVIDER,
    OVER_BUDGET,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from a2a.server.context import ServerCallContext
    from a2a.types import SendMessageRequest

    from a2a_adapters import AgentReply
    from a2a_adapters.dialects import DialectAgent
    from a2a_adapters_omniroute.serving.task import DialectTask

ERROR_CODE = "error_code"
"""Metadata key of a task: a special error code for its failure."""

_TOLD = (ERROR_CODE, "routing_explanation", "cost_envelope", "resilience_trace", "policy_verdict")

logger = logging.getLogger(__name__)


class Work:
    """A running task.

    Args:
        agent: The agent.
        task: The task.
        context: The caller's context.
    """

    def __init__(self, agent: DialectAgent, task: DialectTask, context: ServerCallContext) -> None:
        self._agent = agent
        self._task = task
        self._context = context
        self._answer = Answer()
        self._said: list[str] = []

    async def run(self, request: SendMessageRequest) -> None:
        """Run the task until it ends."""
        task = self._task
        try:
            async with asyncio.timeout(task.run_seconds) as limit:
                await self._follow(request)
        except TimeoutError:
            if limit.expired():
                task.fail(f"The task did not end within {task.run_seconds:g} s")
                await self.stop()
        except A2AError as error:
            task.fail(error.message, _code(error))
        except Exception:
            logger.exception("task %s of an OmniRoute client failed", task.id)
        finally:
            task.fail("The agent did not end its answer")

    async def stop(self) -> None:
        """Cancel the agent's A2A task, if it has started."""
        if not self._answer.task_id or self._answer.is_settled:
            return
        try:
            params = CancelTaskRequest(id=self._answer.task_id)
            await self._agent.handler.on_cancel_task(params, self._context)
        except A2AError as error:  # already ended or not cancellable
            logger.info("cannot cancel task %s: %s", self._answer.task_id, error.message)

    async def _follow(self, request: SendMessageRequest) -> None:
        task, answer = self._task, self._answer
        async with aclosing(self._agent.follow(request, self._context, answer)) as following:
            async for news in following:
                if task.is_finished:  # cancelled before the agent's task started
                    await self.stop()
                    return
                task.move("working")
                await self._say(news)
        await self._finish(*answer.finish())

    async def _say(self, news: Sequence[object]) -> None:
        for each in news:
            if isinstance(each, TextDelta):
                if self._task.is_read:
                    self._said.append(each.text)
                await self._task.say(_text(each.text))

    async def _finish(self, news: Sequence[object], reply: AgentReply) -> None:
        task = self._task
        match reply.state:
            case "completed":
                await self._say(news)
                if corrected := correction("".join(self._said), reply.text):
                    await task.say(_text(corrected))
                for artifact in _artifacts([p for p in reply.parts if not isinstance(p, Text)]):
                    await task.say(artifact)
                task.complete(_artifacts_of(reply), call_metadata(reply.metadata))
            case "canceled":
                task.move("cancelled")
            case "input-required" | "auth-required":
                task.fail(f"The agent's question is not supported by OmniRoute: {reply.text}")
                params = CancelTaskRequest(id=reply.task_id)
                await self._agent.handler.on_cancel_task(params, self._context)
            case _:
                reason = "\n".join(_texts(reply.status_parts)) or f"The task was {reply.state}"
                task.fail(reason, _error_code(reply.metadata), call_metadata(reply.metadata))


def call_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a call: the agent's metadata known to the dialect, and its usage.

    Missing metadata is left out.
    """
    known = {key: metadata[key] for key in (*_TOLD, "usage", "model") if key in metadata}
    if "model" in known and "routing_explanation" not in known:
        known["routing_explanation"] = f"Selected {known['model']}"
    return known


def _error_code(metadata: Mapping[str, Any]) -> int:
    """Return the error code of a failure; agents may select one in their metadata."""
    code = metadata.get(ERROR_CODE)
    return code if code in (OVER_BUDGET, NO_PROVIDER) else FAILED


def _code(error: A2AError) -> int:
    if isinstance(error, InvalidParamsError | ContentTypeNotSupportedError):
        return INVALID_PARAMS
    return NO_PROVIDER if is_busy(error) else FAILED


def _artifacts_of(reply: AgentReply) -> list[dict[str, Any]]:
    """Return the artifacts, with the text of each joined."""
    groups = [artifact.parts for artifact in reply.artifacts] or [reply.parts]
    late = reply.parts[sum(map(len, groups)) :]
    return [found for group in (*groups, late) for found in _artifacts(group)]


def _artifacts(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return parts as artifacts; data becomes JSON text, because the dialect has only text."""
    texts = _texts(parts)
    found: list[dict[str, Any]] = [_text("\n".join(texts))] if texts else []
    for part in parts:
        match part:
            case Data():
                found.append(_text(as_text([part])))
            case File():
                found.append(_file(part))
            case _:
                pass
    return found


def _texts(parts: Sequence[Part]) -> list[str]:
    return [part.text for part in parts if isinstance(part, Text) and part.text]


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "content": text}


def _file(file: File) -> dict[str, Any]:
    content = file.url or base64.b64encode(file.content or b"").decode()
    return {
        "type": "file",
        "content": content,
        **({"mimeType": file.media_type} if file.media_type else {}),
        **({"name": file.filename} if file.filename else {}),
    }
