"""A channel of gRPC whose answers are counted before they are parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc.aio

from a2a_adapters.calling.errors import RemoteAnswerError
from a2a_adapters.calling.parsing import made
from a2a_adapters.protocol.values import has_more_fields

if TYPE_CHECKING:
    from collections.abc import Callable

_FIELDS_PER_VALUE = 4
"""A value of JSON has so many fields in protobuf at most: its key, its entry, itself, its kind."""


class CountedChannel:
    """Makes what the stubs of gRPC call.

    Args:
        channel: What the calls go through.
        values: How many values of JSON an answer, or one of a stream, may hold.
    """

    def __init__(self, channel: grpc.aio.Channel, values: int) -> None:
        self._channel = channel
        self._values = values

    def unary_unary(
        self,
        method: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        _registered_method: bool | None = None,
    ) -> Callable[..., Any]:
        """Return what calls a method that has one answer."""
        send: Any = self._channel.unary_unary(method, request_serializer, None)
        reading = _Reading(response_deserializer, self._values)

        async def call(request: object, *, metadata: Any, timeout: float | None = None) -> Any:  # noqa: ASYNC109 - the interface of grpc
            return await reading.of(await send(request, metadata=metadata, timeout=timeout))

        return call

    def unary_stream(
        self,
        method: str,
        request_serializer: Callable[[Any], bytes],
        response_deserializer: Callable[[bytes], Any],
        _registered_method: bool | None = None,
    ) -> Callable[..., Any]:
        """Return what calls a method that has a stream of answers."""
        send: Any = self._channel.unary_stream(method, request_serializer, None)
        reading = _Reading(response_deserializer, self._values)

        def call(request: object, *, metadata: Any, timeout: float | None = None) -> _Stream:
            return _Stream(send(request, metadata=metadata, timeout=timeout), reading)

        return call

    async def close(self) -> None:
        """Close the channel."""
        await self._channel.close()


class _Reading:
    """How the answers to one method are read."""

    def __init__(self, parse: Any, values: int) -> None:
        self._parse = parse
        self._kind = parse.__self__
        self._values = values

    async def of(self, wire: bytes) -> Any:
        return await made(len(wire), self._read, wire)

    def _read(self, wire: bytes) -> Any:
        if has_more_fields(wire, self._kind, _FIELDS_PER_VALUE * self._values):
            raise RemoteAnswerError(f"the agent's answer holds over {self._values:,} values")
        return self._parse(wire)


class _Stream:
    """A stream of answers."""

    def __init__(self, inner: Any, reading: _Reading) -> None:
        self._inner = inner
        self._reading = reading

    async def read(self) -> Any:
        """Return the next answer, `grpc.aio.EOF` at the end."""
        wire = await self._inner.read()
        return wire if wire is grpc.aio.EOF else await self._reading.of(wire)
