"""Calls models for whole responses where something judges only these."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.models import CompletedStreamedResponse, Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from a2a_adapters.plugin import overrides

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from pydantic_ai import ModelMessage, ModelSettings, RunContext
    from pydantic_ai.models import ModelRequestParameters, StreamedResponse


class WholeResponses(AbstractCapability[Any]):
    """Wraps the model of each request, which other capabilities may choose or wrap."""

    def get_ordering(self) -> CapabilityOrdering:
        """Wrap the models of all other capabilities."""
        return CapabilityOrdering(position="outermost")

    def get_wrapper_model(self, model: Model) -> Model | None:
        """Wrap a model that judges only responses that are not streamed."""
        return _WholeModel(model) if any(map(_judges_whole, models_in(model))) else None


class _WholeModel(WrapperModel):
    """Streams responses that its model has given as a whole."""

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,  # noqa: ARG002 - only streams take it
    ) -> AsyncGenerator[StreamedResponse]:
        response = await self.request(messages, model_settings, model_request_parameters)
        yield CompletedStreamedResponse(
            response, model_request_parameters=model_request_parameters, replay_events=True
        )


def models_in(model: Model[Any]) -> Iterator[Model[Any]]:
    """Yield a model, and all models inside it."""
    yield model
    inner = [model.wrapped] if isinstance(model, WrapperModel) else []
    for each in model.models if isinstance(model, FallbackModel) else inner:
        yield from models_in(each)


def judges(predicates: Any) -> bool:
    """Whether the handlers of a fallback look at responses."""
    return predicates is not None and bool(
        predicates.response_handlers or predicates.content_filter or predicates.output_token_limit
    )


def _judges_whole(model: Model[Any]) -> bool:
    checks = overrides(model, "request", "pydantic_ai.", unless=["request_stream"])
    return checks or judges(getattr(model, "_predicates", None))
