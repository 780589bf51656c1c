"""A remote agent's answer as text, for models that take nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from a2a_adapters import AgentReply, File


def text_of(reply: AgentReply) -> str:
    """Return all of an answer."""
    return "\n".join(filter(None, (reply.text, rest_of(reply))))


def rest_of(reply: AgentReply) -> str:
    """Return what of an answer is not text: data as JSON, and the names of files."""
    data = [reply.data_text] if reply.data else []
    return "\n".join([*data, *(f"(A file: {_name(file)})" for file in reply.files)])


def _name(file: File) -> str:
    return file.filename or file.url or file.media_type or "without a name"
