"""The workflow of Temporal that `engines.py` measures; its sandbox imports this module again."""

from __future__ import annotations

from temporalio import workflow

with workflow.unsafe.imports_passed_through():
    from a2a_adapters_temporal import A2ACaller


@workflow.defn
class Asking:
    """Asks."""

    @workflow.init
    def __init__(self, text: str) -> None:  # noqa: ARG002 - Temporal passes what `run` gets
        self.caller = A2ACaller()

    @workflow.run
    async def run(self, text: str) -> str:
        """Ask."""
        return f"{text}: {(await self.caller.ask('Where to?')).text}"
