"""Whether interfaces over gRPC answer; without the extra `grpc` nobody is asked."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from a2a.types import GetTaskRequest

from a2a_adapters import RemoteAgentError
from a2a_adapters.calling.options import RemoteOptions
from a2a_adapters_check.line import MAX_ANSWER
from a2a_adapters_check.model import Fault, check
from a2a_adapters_check.report import Severity, UncheckedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from a2a_adapters_check.interfaces import Interface
    from a2a_adapters_check.subject import Subject

_OPTIONS = RemoteOptions(answer_bytes=MAX_ANSWER)
_ANSWERED = {"NOT_FOUND", "UNAUTHENTICATED", "PERMISSION_DENIED"}


@check(
    "binding.grpc",
    Severity.ERROR,
    "Interfaces over gRPC answer, and know no task of nobody's",
    clause="A2A 1.0.1, 5.4 and 10",
    remedy="Serve a2a.v1.A2AService there; answer NOT_FOUND for an unknown task.",
)
async def grpc_answers(subject: Subject) -> AsyncIterator[Fault]:
    """Tell of gRPC interfaces where nobody is, or somebody else."""
    for each in subject.over_grpc():
        if not each.is_old:
            told = await _ask(subject, each)
            if told not in _ANSWERED:
                yield Fault(f"{each.name} answers {told}", each.where)


async def _ask(subject: Subject, interface: Interface) -> str:
    """Ask for a task that is nobody's; return the status by name, or what went wrong.

    Raises:
        UncheckedError: The extra `grpc` is not installed.
    """
    try:
        from a2a.types.a2a_pb2_grpc import A2AServiceStub  # noqa: PLC0415 - an extra
        from grpc.aio import AioRpcError  # noqa: PLC0415

        from a2a_adapters.calling.grpc_channel import grpc_url, open_channel  # noqa: PLC0415
    except ImportError as error:
        raise UncheckedError("it needs the extra a2a-adapters[grpc]") from error
    request = GetTaskRequest(id=await subject.unknown_id(), tenant=interface.tenant)
    try:
        async with asyncio.timeout(subject.line.patience):
            url = grpc_url(interface.url, subject.url)
            async with await open_channel(url, subject.url, _OPTIONS) as channel:
                metadata = (("a2a-version", _sendable(interface.version)),)
                stub = A2AServiceStub(channel)  # type: ignore[no-untyped-call]
                await stub.GetTask(request, metadata=metadata)
    except AioRpcError as error:
        return str(error.code().name)
    except TimeoutError:
        return "not in time"
    except RemoteAgentError as error:
        return f"nothing: {error}"
    return "by a task"


def _sendable(version: str) -> str:
    """Return a version that metadata may have: what is none is told of by another check."""
    return version if version.isascii() and version.isprintable() else "1.0"
