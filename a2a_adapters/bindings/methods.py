"""The operations of A2A 1.0 in JSON: how their requests are read, and their results written.

What they are, and how the runtime carries them out, is in `operations`, for gRPC and A2A 0.3 too.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Any, TypeVar

from a2a.types import ListTasksResponse, Task
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import ParseDict, ParseError
from pydantic_core import ValidationError, to_json

from a2a_adapters.bindings import operations
from a2a_adapters.contract.errors import violations
from a2a_adapters.protocol.reading import parse_send
from a2a_adapters.protocol.wire import message_to_dict, task_to_dict, to_dict

if TYPE_CHECKING:
    from collections.abc import Callable

    from google.protobuf.message import Message

    from a2a_adapters.bindings.operations import Operation


T = TypeVar("T")
Params = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Method:
    """An operation in one version of JSON.

    Attributes:
        operation: What is carried out.
        parse: Makes its request from the call's parameters; raises `InvalidParamsError`.
        encode: Makes JSON from its result or, if it streams, from an update of the task.
    """

    operation: Operation
    parse: Callable[[Params], Message]
    encode: Callable[[Any], bytes]


def parsed(parse: Callable[[T], Message], params: T) -> Any:
    """Return `parse(params)`.

    Raises:
        InvalidParamsError: It raised anything: protobuf and a2a-sdk let errors of all kinds
            through for values they do not expect.
    """
    try:
        return parse(params)
    except (InvalidParamsError, MemoryError):
        raise
    except ParseError as error:
        raise InvalidParamsError(str(error)) from error
    except ValidationError as error:
        found = [{"field": place, "message": what} for place, what in violations(error)]
        raise InvalidParamsError(data={"errors": found}) from error
    except Exception as error:
        raise InvalidParamsError from error


def _method(operation: Operation, encode: Callable[[Any], bytes] | None = None) -> Method:
    def parse(params: Params) -> Message:
        return ParseDict(params, operation.params(), ignore_unknown_fields=True)

    return Method(operation, parse, encode or _encode)


def parse_list(params: Params) -> Message:
    """Return a `ListTasksRequest`.

    Raises:
        ParseError: A parameter, or the state that it names, is unknown.
    """
    request = operations.LIST.params()
    ParseDict(params, request, ignore_unknown_fields=True)
    # Ignoring unknown fields makes protobuf ignore unknown states as well.
    ParseDict({"status": params.get("status")}, operations.LIST.params())
    return request


def _encode(result: Message | None) -> bytes:
    return to_json({} if result is None else to_dict(result))


def _encode_task(task: Task) -> bytes:
    return to_json(task_to_dict(task))


def _encode_sent(result: Task | Any) -> bytes:
    if isinstance(result, Task):
        return to_json({"task": task_to_dict(result)})
    return to_json({"message": message_to_dict(result)})


def encode_page(page: ListTasksResponse, task_to: Callable[[Task], object] = task_to_dict) -> bytes:
    """Return the JSON of a page, of whose tasks `task_to` makes what pydantic encodes."""
    # The fields of a page are required, also when they are empty (section 3.1.4).
    return to_json(
        {
            "tasks": [task_to(task) for task in page.tasks],
            "nextPageToken": page.next_page_token,
            "pageSize": page.page_size,
            "totalSize": page.total_size,
        }
    )


_encode_update = methodcaller("json")


METHODS = {
    method.operation.name: method
    for method in (
        Method(operations.SEND, parse_send, _encode_sent),
        Method(operations.STREAM, parse_send, _encode_update),
        _method(operations.GET, _encode_task),
        Method(operations.LIST, parse_list, encode_page),
        _method(operations.CANCEL, _encode_task),
        _method(operations.SUBSCRIBE, _encode_update),
        _method(operations.CREATE_PUSH),
        _method(operations.GET_PUSH),
        _method(operations.LIST_PUSH),
        _method(operations.DELETE_PUSH),
        _method(operations.EXTENDED_CARD),
    )
}
"""The methods of A2A 1.0 by name."""
