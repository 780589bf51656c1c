"""Converts the items of a run to adapter events."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from PIL.Image import Image
from smolagents import ActionStep, FinalAnswerStep, PlanningStep
from smolagents.agent_types import AgentAudio, AgentImage, AgentText
from smolagents.agents import ToolOutput
from smolagents.memory import ToolCall
from smolagents.utils import AgentMaxStepsError

from a2a_adapters import (
    AgentEvent,
    Data,
    File,
    Output,
    Part,
    Progress,
    TaskMetadata,
    Text,
    TextDelta,
    TokenUsage,
)
from a2a_adapters.plugin import AgentFailedError, ToolCalls, as_output
from a2a_adapters_smolagents.serving.copies import is_checked, team

if TYPE_CHECKING:
    from collections.abc import Iterator

    from smolagents import MultiStepAgent

_FINAL = "final_answer"


class RunEvents:
    """Converts the items of one run.

    The answer is the final one, which all checks have accepted. Steps, plans and tool calls are
    progress. If something may change or refuse an answer or a step, plans are left out, and so are
    arguments and results of tools.

    Args:
        agent: The agent.
        wants_progress: Whether the client follows the progress.
    """

    def __init__(self, agent: MultiStepAgent, *, wants_progress: bool) -> None:
        self._agent = agent
        self._wants_progress = wants_progress
        self._shows_all = not is_checked(agent)
        self._calls = ToolCalls()
        self._open: dict[str, str] = {}
        self._has_plan = False

    def take(self, item: object) -> Iterator[AgentEvent]:
        """Yield the adapter events for an item.

        Raises:
            AgentFailedError: The agent reached its limit of steps, and its answer was not checked.
        """
        if isinstance(item, FinalAnswerStep):
            yield from self._answer(item.output)
            yield from self._usage()
        elif self._wants_progress:
            yield from self._progress(item)

    def _progress(self, item: object) -> Iterator[AgentEvent]:
        match item:
            case PlanningStep() if self._shows_all:
                yield Progress(item.plan, {"kind": "plan"})
            case ToolCall() if item.name != _FINAL:
                shown = item.arguments if self._shows_all else None
                self._open[item.id] = item.name
                yield from self._calls.started(item.id, item.name, shown)
            case ToolOutput() if item.id in self._open:
                del self._open[item.id]
                shown = item.observation if self._shows_all else None
                yield from self._calls.finished(item.id, shown)
            case ActionStep():
                for key in self._open:
                    shown = item.observations if self._shows_all else None
                    yield from self._calls.finished(key, shown, is_error=bool(item.error))
                self._open.clear()
                yield Progress(f"Step {item.step_number}", {"kind": "step"})

    def _answer(self, output: Any) -> Iterator[AgentEvent]:
        last = self._agent.memory.steps[-1]
        is_cut = isinstance(getattr(last, "error", None), AgentMaxStepsError)
        # The model's last words are not checked then, and may be the text of an exception.
        if is_cut and (self._agent.final_answer_checks or not isinstance(output, str)):
            raise AgentFailedError("limit")
        match output:
            case _ if file := _file_of(output):
                yield Output([file])
            case AgentText() | str():
                yield TextDelta(str(output))
            case list() | tuple() if any(files := [*map(_file_of, output)]):
                pairs = zip(files, output, strict=True)
                yield Output([file or _part(each) for file, each in pairs])
            case _ if converted := as_output(output):
                yield converted

    def _usage(self) -> Iterator[AgentEvent]:
        total = TokenUsage()
        for each in team(self._agent):
            used = each.monitor.get_total_token_counts()
            total += TokenUsage(used.input_tokens, used.output_tokens, used.total_tokens)
        if total.total_tokens:
            yield TaskMetadata(total.as_metadata())


def _file_of(output: Any) -> File | None:
    """Return an image or audio as a file."""
    match output:
        case AgentImage() | Image():
            raw = output.to_raw() if isinstance(output, AgentImage) else output
            content = io.BytesIO()
            raw.save(content, "PNG")
            return File(content=content.getvalue(), media_type="image/png")
        case AgentAudio():
            return File(content=_read(output.to_string()), media_type="audio/wav")
    return None


def _part(output: Any) -> Part:
    return Text(output) if isinstance(output, str) else Data(output)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123 - of the framework's temporary file
        return file.read()
