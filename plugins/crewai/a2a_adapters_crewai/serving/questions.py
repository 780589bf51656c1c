"""Human input: questions that crewai would ask on the terminal are sent to the caller."""

from __future__ import annotations

import ast
import asyncio
import functools
import inspect
import logging
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from crewai.core.providers.human_input import SyncHumanInputProvider, set_provider
from crewai.flow.async_feedback.providers import ConsoleProvider
from crewai.flow.async_feedback.types import HumanFeedbackPending, PendingFeedbackContext
from crewai.flow.flow_config import flow_config
from crewai.flow.human_feedback import HumanFeedbackResult
from crewai.llms.base_llm import BaseLLM

from a2a_adapters import AgentRequest, Data, File, InputRequired, Part, TargetError, Text
from a2a_adapters.plugin import as_decision, as_json, as_text, without_reasoning
from a2a_adapters_crewai.serving.crew_run import current_run
from a2a_adapters_crewai.serving.output import plain

if TYPE_CHECKING:
    from crewai.agents.parser import AgentFinish
    from crewai.core.providers.human_input import AsyncExecutorContext, ExecutorContext
    from crewai.flow.flow import Flow

    from a2a_adapters_crewai.serving.crew_run import CrewRun

logger = logging.getLogger(__name__)

_HOW_TO_ANSWER = 'Reply "ok" to accept this, or say what to change.'


def install(run: CrewRun) -> None:
    """Send the questions of the current context to the caller of `run`."""
    set_provider(Reviewer(run))
    _replace_console()


def feedback_question(
    context: PendingFeedbackContext, *, is_repeated: bool = False
) -> InputRequired:
    """Return the question of a flow's `@human_feedback` about a method's output, the draft.

    Args:
        context: The question, as crewai describes it.
        is_repeated: Whether the last answer could not be understood.
    """
    draft = plain(getattr(context.method_output, "raw", context.method_output))
    draft = without_reasoning(draft) if isinstance(draft, str) else draft
    parts = _parts_of(draft)
    if parts:
        draft = as_text(parts)
    text = draft if isinstance(draft, str) else as_text([Data(as_json(draft))])
    data = {"method": context.method_name, "draft": as_json(draft), "outcomes": context.emit}
    lines = [context.message, text]
    if context.emit:
        outcomes = " or ".join(context.emit)
        lines.append(f"Reply with {outcomes}, or in your own words.")
        if is_repeated:
            lines.insert(0, f"The answer was not understood. Reply with {outcomes}.")
    files = [part for part in parts if isinstance(part, File)]
    return InputRequired("\n\n".join(lines), (Data(data), *files))


def _parts_of(draft: object) -> Sequence[Part]:
    """Return the parts of a draft that consists of them, as an answer with files may."""
    found = draft if isinstance(draft, list | tuple) else [draft]
    parts = [part for part in found if isinstance(part, Text | File | Data)]
    return parts if len(parts) == len(found) else []


class Reviewer(SyncHumanInputProvider):
    """Sends the draft of a task with `human_input` to the caller until it is accepted."""

    def __init__(self, run: CrewRun) -> None:
        self._run = run

    # The private methods below belong to crewai's protocol for providers.

    def handle_feedback(
        self, formatted_answer: AgentFinish, context: ExecutorContext
    ) -> AgentFinish:
        """Have a draft reviewed while the current thread waits."""
        answer = formatted_answer
        while feedback := _feedback(self._run.ask_in_thread(self._draft(answer, context))):
            context.messages.append(context._format_feedback_message(feedback))  # noqa: SLF001
            answer = context._invoke_loop()  # noqa: SLF001
        context.ask_for_human_input = False
        return answer

    async def handle_feedback_async(
        self, formatted_answer: AgentFinish, context: AsyncExecutorContext
    ) -> AgentFinish:
        """Have a draft reviewed, in the run's event loop."""
        answer = formatted_answer
        while feedback := _feedback(
            await asyncio.wrap_future(self._run.ask(self._draft(answer, context)))
        ):
            context.messages.append(context._format_feedback_message(feedback))  # noqa: SLF001
            answer = await context._ainvoke_loop()  # noqa: SLF001
        context.ask_for_human_input = False
        return answer

    def _draft(self, answer: AgentFinish, context: ExecutorContext) -> InputRequired:
        draft = without_reasoning(self._get_output_string(answer))
        task = context.task.name if context.task else None
        data = Data({"task": task, "agent": context.agent.role, "draft": draft})
        return InputRequired(f"{draft}\n\n{_HOW_TO_ANSWER}", (data,))


class Caller:
    """Sends questions of `@human_feedback` and `Flow.ask()` to the caller of a served flow.

    Other flows ask on the terminal. A served flow with persistence is stored with its question;
    all other questions wait in memory.
    """

    def request_feedback(
        self, context: PendingFeedbackContext, flow: Flow[Any]
    ) -> str | Coroutine[Any, Any, str]:
        """Return the caller's feedback, or a coroutine that waits for it.

        Raises:
            HumanFeedbackPending: The flow is to be stored until the feedback arrives.
        """
        run = current_run.get()
        if run is None:
            return ConsoleProvider().request_feedback(context, flow)
        run.feedback[context.method_name] = context
        if run.durable_flow is flow:
            raise HumanFeedbackPending(context=context)
        return _answer_of(run, feedback_question(context))

    def request_input(
        self, message: str, flow: Flow[Any], metadata: Mapping[str, Any] | None = None
    ) -> str | None:
        """Return the caller's answer while the current thread waits."""
        run = current_run.get()
        if run is None:
            return ConsoleProvider().request_input(message, flow, dict(metadata or {}))
        if _is_in_event_loop():
            run.fail(TargetError("Flow.ask() blocks: call it in a method that is not async"))
            return None
        parts: Sequence[Part] = (Data(as_json(metadata)),) if metadata else ()
        return as_text(run.ask_in_thread(InputRequired(message, parts)).parts).strip()


def refuse_blocking_questions(flow: Flow[Any]) -> None:
    """Refuse flows whose `async` methods call `self.ask`, which would block all other runs.

    Raises:
        TargetError: An `async` method calls it.
    """
    kinds = [each for each in type(flow).__mro__ if not each.__module__.startswith("crewai.")]
    for name, member in chain.from_iterable(vars(kind).items() for kind in kinds):
        method = inspect.unwrap(member) if callable(member) else member
        if inspect.iscoroutinefunction(method) and _asks(method):
            raise TargetError(
                f"{type(flow).__name__}.{name} is async and calls self.ask(), which blocks: call "
                "it in a method that is not async, or as `await asyncio.to_thread(self.ask, ...)`"
            )


def _asks(method: Callable[..., Any]) -> bool:
    """Whether the source code of an `async` method, if it is there, calls its object's `ask`."""
    try:
        lines, _ = inspect.getsourcelines(method)
        tree = ast.parse(("if True:\n" if lines[0][0].isspace() else "") + "".join(lines))
    except (OSError, SyntaxError, TypeError):
        return False
    function = next(
        (each for each in ast.walk(tree) if isinstance(each, ast.AsyncFunctionDef)), None
    )
    if function is None or not function.args.args:
        return False
    question = f"{function.args.args[0].arg}.ask"
    calls = (each for each in _executed(function) if isinstance(each, ast.Call))
    return any(ast.unparse(call.func) == question for call in calls)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run with a function, without the bodies of functions inside it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _executed(child)


class StillPending(HumanFeedbackPending):
    """The feedback for a stored flow could not be classified; the flow stays stored."""


def classify_feedback(flow: Flow[Any], run: CrewRun) -> None:
    """Classify feedback that names an outcome without a model, and ask again if a model fails.

    crewai has a model select one of `@human_feedback(emit=[...])`, even for the outcome itself,
    and ends the flow if that fails.
    """
    finalize = flow._finalize_human_feedback  # noqa: SLF001

    async def classified(**given: Any) -> HumanFeedbackResult:
        given["llm"] = _model_of(flow, given["method_name"]) or given["llm"]
        while True:
            if result := _exact_result(given):
                flow.human_feedback_history.append(result)
                flow.last_human_feedback = result
                return result
            try:
                return await finalize(**given)
            except Exception as error:
                context = run.feedback.get(given["method_name"])
                if context is None or not given["emit"]:  # a provider of the user asked
                    raise
                logger.warning("feedback cannot be classified: %s", error)
                if run.durable_flow is flow:
                    raise StillPending(context=context) from error
                question = feedback_question(context, is_repeated=True)
                given["raw_feedback"] = await _answer_of(run, question)

    object.__setattr__(flow, "_finalize_human_feedback", classified)


def _model_of(flow: Flow[Any], method: str) -> BaseLLM | None:
    """Return the model that classifies feedback, if it is an object.

    A stored question has only its configuration, from which crewai makes another model.
    """
    feedback = flow.flow_definition().methods[method].human_feedback
    return feedback.llm if feedback and isinstance(feedback.llm, BaseLLM) else None


def _exact_result(given: Mapping[str, Any]) -> HumanFeedbackResult | None:
    """Return the result for feedback that names one of the outcomes."""
    outcomes = {_words(outcome): outcome for outcome in given["emit"] or ()}
    outcome = outcomes.get(_words(given["raw_feedback"]))
    if outcome is None:
        return None
    return HumanFeedbackResult(
        output=given["method_output"],
        feedback=given["raw_feedback"],
        outcome=outcome,
        method_name=given["method_name"],
        metadata=given["metadata"],
    )


def _words(text: str) -> str:
    return re.sub(r"[\W_]+", " ", text).strip().casefold()


@functools.cache
def _replace_console() -> None:
    """Replace the terminal as crewai's provider of human input, unless the user set one."""
    caller: Any = Caller()
    flow_config.hitl_provider = flow_config.hitl_provider or caller
    flow_config.input_provider = flow_config.input_provider or caller


async def _answer_of(run: CrewRun, question: InputRequired) -> str:
    reply = await asyncio.wrap_future(run.ask(question))
    return as_text(reply.parts).strip()


def _is_in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _feedback(reply: AgentRequest) -> str:
    """Return the requested changes; "" if the draft is accepted."""
    text = as_text(reply.parts).strip()
    return "" if not text or as_decision(text) == (True, "") else text
