"""The messages of A2A 1.1 as drafted: those of a2a-sdk with the fields of the draft."""

from __future__ import annotations

from a2a.types import a2a_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessageClass

V11 = {"A2A-Version": "1.1"}

FIELDS = {
    "Task": ("generation", 7, False),
    "TaskStatusUpdateEvent": ("generation", 5, False),
    "TaskArtifactUpdateEvent": ("generation", 7, False),
    "GetTaskRequest": ("current_generation", 4, True),
    "SendMessageConfiguration": ("if_generation_match", 5, True),
}
"""The name and the number of each field, and whether it is optional."""


def _pool() -> DescriptorPool:
    pool = DescriptorPool()
    _add(pool, a2a_pb2.DESCRIPTOR, set())
    return pool


def _add(pool, file, known):
    if file.name in known:
        return
    known.add(file.name)
    for each in file.dependencies:
        _add(pool, each, known)
    proto = FileDescriptorProto.FromString(file.serialized_pb)
    for message in proto.message_type if file is a2a_pb2.DESCRIPTOR else ():
        if message.name in FIELDS:
            name, number, is_optional = FIELDS[message.name]
            field = message.field.add(
                name=name,
                number=number,
                type=FieldDescriptorProto.TYPE_INT64,
                label=FieldDescriptorProto.LABEL_OPTIONAL,
            )
            if is_optional:
                field.proto3_optional = True
                field.oneof_index = len(message.oneof_decl)
                message.oneof_decl.add(name=f"_{name}")
    pool.Add(proto)


_POOL = _pool()


def drafted_type(name):
    """Return the class of a message."""
    package = a2a_pb2.DESCRIPTOR.package
    return GetMessageClass(_POOL.FindMessageTypeByName(f"{package}.{name}"))
