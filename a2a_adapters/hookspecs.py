"""The hooks a plugin may implement.

A plugin is a module (or object) with functions marked `@hookimpl`, published under the
entry-point group `a2a_adapters`. Hooks are synchronous and do no I/O.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pluggy import HookimplMarker, HookspecMarker

if TYPE_CHECKING:
    from a2a_adapters.adapter import Adapter

PROJECT = "a2a_adapters"

hookspec = HookspecMarker(PROJECT)
hookimpl = HookimplMarker(PROJECT)


@hookspec(firstresult=True)
def a2a_adapt(target: object) -> Adapter | None:
    """Wrap `target` so that it can be served, or return None to pass.

    Stops at the first result that is not None. A plugin must not import its framework here
    before it knows that the target belongs to it: an object of a framework can only exist
    when that framework is already in `sys.modules`.

    Raises:
        TargetError: The target is of this framework, but cannot be served as it is.
    """
