"""Lets an agent work on a task, and tells what it does in the words of the dialect."""

from __future__ import annotations

import asyncio
import base64
import logging
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from a2a.types import CancelTaskRequest
from a2a.utils.errors import A2AError, ContentTypeNotSupportedError, InvalidParamsError

from a2a_adapters import Data, File, Part, Text, TextDelta, as_text
from a2a_adapters.dialects import Answer, is_busy
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
"""Key of a task's metadata: by which code it fails, if not by the usual one."""

_TOLD = (ERROR_CODE, "routing_explanation", "cost_envelope", "resilience_trace", "policy_verdict")

logger = logging.getLogger(__name__)


class Work:
    """One task being worked on.

    Args:
        agent: Who works.
        task: What it is about.
        context: Who asks.
    """

    def __init__(self, agent: DialectAgent, task: DialectTask, context: ServerCallContext) -> None:
        self._agent = agent
        self._task = task
        self._context = context
        self._answer = Answer()

    async def run(self, request: SendMessageRequest) -> None:
        """Work until the task has ended in one way or another."""
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
        """Stop the agent, if it has begun a task of its own."""
        if not self._answer.task_id or self._answer.is_settled:
            return
        try:
            params = CancelTaskRequest(id=self._answer.task_id)
            await self._agent.handler.on_cancel_task(params, self._context)
        except A2AError as error:  # it has ended meanwhile, or cannot be stopped
            logger.info("task %s goes on: %s", self._answer.task_id, error.message)

    async def _follow(self, request: SendMessageRequest) -> None:
        task, answer = self._task, self._answer
        async with aclosing(self._agent.follow(request, self._context, answer)) as following:
            async for news in following:
                if task.is_finished:  # cancelled before the agent had begun a task
                    await self.stop()
                    return
                task.move("working")
                await self._say(news)
        await self._finish(*answer.finish())

    async def _say(self, news: Sequence[object]) -> None:
        for each in news:
            if isinstance(each, TextDelta):
                await self._task.say(_text(each.text))

    async def _finish(self, news: Sequence[object], reply: AgentReply) -> None:
        task = self._task
        match reply.state:
            case "completed":
                await self._say(news)
                for artifact in _artifacts([p for p in reply.parts if not isinstance(p, Text)]):
                    await task.say(artifact)
                task.complete(_artifacts_of(reply), told(reply.metadata))
            case "canceled":
                task.move("cancelled")
            case "input-required" | "auth-required":
                task.fail(f"The agent asks, and OmniRoute's clients cannot answer: {reply.text}")
                params = CancelTaskRequest(id=reply.task_id)
                await self._agent.handler.on_cancel_task(params, self._context)
            case _:
                reason = "\n".join(_texts(reply.status_parts)) or f"The task was {reply.state}"
                task.fail(reason, _told_code(reply.metadata), told(reply.metadata))


def told(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known about a call: what the agent said in the dialect's words, and its usage.

    Nothing is made up: an agent that says nothing leaves it out.
    """
    known = {key: metadata[key] for key in (*_TOLD, "usage", "model") if key in metadata}
    if "model" in known and "routing_explanation" not in known:
        known["routing_explanation"] = f"Selected {known['model']}"
    return known


def _told_code(metadata: Mapping[str, Any]) -> int:
    """Return the code of a failure, for which an agent may name one of two in its metadata."""
    code = metadata.get(ERROR_CODE)
    return code if code in (OVER_BUDGET, NO_PROVIDER) else FAILED


def _code(error: A2AError) -> int:
    if isinstance(error, InvalidParamsError | ContentTypeNotSupportedError):
        return INVALID_PARAMS
    return NO_PROVIDER if is_busy(error) else FAILED


def _artifacts_of(reply: AgentReply) -> list[dict[str, Any]]:
    """Return the results one by one, their text in one piece each."""
    groups = [artifact.parts for artifact in reply.artifacts] or [reply.parts]
    late = reply.parts[sum(map(len, groups)) :]
    return [found for group in (*groups, late) for found in _artifacts(group)]


def _artifacts(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Return parts as artifacts; the dialect has text only, so data is sent as JSON text."""
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
