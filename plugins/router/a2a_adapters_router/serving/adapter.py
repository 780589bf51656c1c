"""Adapter of routers."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from a2a_adapters import BlockedError, Data, Output, Rejected, Skill, TaskMetadata, TextDelta
from a2a_adapters.plugin import Adapter, AgentDescription, AgentFailedError, AnswerText
from a2a_adapters_router.calls import Chunk, Corrected, OtherParts
from a2a_adapters_router.choice import QUOTA_MANAGEMENT, SMART_ROUTING, read_choice
from a2a_adapters_router.serving.attempt import Attempts, NoAnswerError
from a2a_adapters_router.serving.prompt import prompt_of
from a2a_adapters_router.serving.quotas import SCHEMA, QuotaReport
from a2a_adapters_router.trace import NO_PROVIDER, OVER_BUDGET

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from a2a_adapters import AgentEvent, AgentRequest
    from a2a_adapters.plugin import StateStorage
    from a2a_adapters_router.metrics import Metrics
    from a2a_adapters_router.router import Router


_INPUT_MODES = ("text/*", "application/json", "image/*", "audio/*", "application/pdf")


class RouterAdapter(Adapter):
    """Serves a router.

    Args:
        router: The router to serve.
    """

    uses_history = True

    def __init__(self, router: Router) -> None:
        self._router = router
        self._metrics: Metrics | None = None
        if find_spec("prometheus_client"):
            from a2a_adapters_router.metrics import Metrics  # noqa: PLC0415 - an extra

            self._metrics = Metrics(router.config.name)

    def describe(self) -> AgentDescription:
        """Return the description with the models and combos as examples."""
        config = self._router.config
        models = list(dict.fromkeys(each.model_name for each in config.deployments))
        return AgentDescription(
            name=config.name,
            description=config.description,
            input_modes=_INPUT_MODES,
            skills=[
                Skill(
                    id=SMART_ROUTING,
                    name="Smart routing",
                    description=f"Answers with the best of: {', '.join(models)}.",
                    tags=["routing", "llm", *config.combos],
                    examples=["Write a function that adds two numbers.", "Review this code."],
                ),
                Skill(
                    id=QUOTA_MANAGEMENT,
                    name="Quota management",
                    description="Reports remaining quotas and free models.",
                    tags=["quota", "cost"],
                    examples=["Which provider has most quota?", "Suggest a free combo"],
                ),
            ],
        )

    async def open(self, storage: StateStorage) -> None:
        """Keep the accounts in the server's storage."""
        await self._router.ledger.open(storage)

    def stream(self, request: AgentRequest) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        """Answer with the requested skill.

        Raises:
            InvalidInputError: The message is empty, or a model, combo, role or tag is unknown.
        """
        choice = read_choice(request)
        if choice.skill == QUOTA_MANAGEMENT:
            return self._report(request)
        prompt = prompt_of(request, choice)
        route = self._router.routes.find(choice, request.owner)
        attempts = Attempts(self._router, route, choice, request.owner, prompt)
        return self._route(attempts, request)

    async def _report(
        self, request: AgentRequest
    ) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        await self._router.ledger.refresh(request.owner)
        text, data = QuotaReport(self._router, request.owner).answer(request.text)
        yield TextDelta(text)
        yield Output([Data(data, schema=SCHEMA)], name="quotas")

    async def _route(
        self, attempts: Attempts, request: AgentRequest
    ) -> AsyncGenerator[AgentEvent, AgentRequest | None]:
        try:
            async with aclosing(attempts.answer()) as news:
                async for each in news:
                    match each:
                        case Chunk(text=text):
                            yield TextDelta(text)
                        case Corrected(text=text):
                            yield AnswerText(text)
                        case OtherParts(parts=parts):
                            yield Output(parts)
        except NoAnswerError as error:
            metadata = attempts.metadata()
            if attempts.rejection:
                yield TaskMetadata(metadata)
                raise BlockedError(attempts.rejection) from error
            if not attempts.trace.is_declined:
                yield TaskMetadata({**metadata, "error_code": NO_PROVIDER})
                raise AgentFailedError("model_unavailable") from error
            code = {} if attempts.trace.allowed else {"error_code": OVER_BUDGET}
            yield TaskMetadata({**metadata, **code})
            yield Rejected(attempts.trace.refusal)
        else:
            yield TaskMetadata(attempts.metadata())
        finally:
            await self._record(attempts.decision(), request)

    async def _record(self, decision: Mapping[str, Any], request: AgentRequest) -> None:
        """Count and log a decision after its answer has ended in any way."""
        if self._metrics is not None:
            self._metrics.add(decision)
        if (history := self._router.history) is not None:
            about = {"task": request.task_id, "owner": request.owner}
            await asyncio.to_thread(history.add, {**about, **decision})

    async def aclose(self) -> None:
        """Close the connections to agents."""
        await self._router.aclose()
