"""Asks chat models for whole answers if only these are checked.

LangChain streams a model that can stream as soon as anything listens to tokens, also if the model
was asked by `ainvoke`. If a class of the user's own checks its answers in `_agenerate` and inherits
its stream, the check is then left out. `BaseChatModel` decides this in two methods without public
names. They are wrapped here, for runs of this server only: the models of a run need not be known
before, such as those that a node or a tool makes.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel

from a2a_adapters_langchain.serving.schema import checks_whole_answers

if TYPE_CHECKING:
    from collections.abc import Callable

_DECISIONS = ("_should_stream", "_should_use_protocol_streaming")
"""The methods of a chat model that tell whether to stream an answer that was asked for whole."""


class AsksWhole(BaseCallbackHandler):
    """Among the callbacks of a run: has its chat models asked for whole answers, see above."""

    def __init__(self) -> None:
        _wrap_decisions()


@functools.cache
def _wrap_decisions() -> None:
    for name in _DECISIONS:
        setattr(BaseChatModel, name, _unless_checked(getattr(BaseChatModel, name)))


def _unless_checked(decide: Callable[..., bool]) -> Callable[..., bool]:
    @functools.wraps(decide)
    def decide_unless_checked(model: BaseChatModel, /, **options: Any) -> bool:
        if not decide(model, **options):
            return False
        run = options.get("run_manager")
        is_served = run and any(isinstance(each, AsksWhole) for each in run.handlers)
        return not (is_served and checks_whole_answers(model))

    return decide_unless_checked
