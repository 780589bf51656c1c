"""Servers with a store for large files."""

from __future__ import annotations

from a2a_adapters_files import FileStore

from a2a_adapters import AgentRequest, BearerTokens, File, Output, ServerOptions, build_app

SECRET = "0123456789abcdef" * 2
USERS = {"t0ken-ann": "ann", "t0ken-ben": "ben"}
MEBIBYTE = 1024 * 1024


def content_of(size: int, seed: int = 1) -> bytes:
    """Return bytes that differ at each offset of a piece."""
    block = b"".join((seed * 1_000_003 + n * 7919).to_bytes(8, "big") for n in range(8192))
    return (block * (size // len(block) + 1))[:size]


def stored(place, **options) -> FileStore:
    return FileStore(place, secret=SECRET, **{"inline_bytes": 1000, **options})


def app(target, store, *, authenticated: bool = True, **options):
    tokens = BearerTokens(USERS) if authenticated else None
    return build_app(target, options=ServerOptions(authentication=tokens, files=store, **options))


def echo(store: FileStore):
    """Return an agent that sends back a file, and says how it arrived."""

    async def returns_files(request: AgentRequest):
        for part in request.parts:
            if isinstance(part, File):
                way = "bytes" if part.content is not None else "link"
                yield f"{way} {part.filename} {part.media_type}"
                copy = part.content if part.content is not None else store.read(part)
                yield Output([await store.add(copy, filename=part.filename)])

    return returns_files
