"""Detects worker processes that share a port, as those of gunicorn and uvicorn do."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")


def share_a_port() -> bool:
    """Return whether a process with the same parent shares a server socket with this one.

    Only Linux shows that; elsewhere it is False.
    """
    with suppress(OSError):
        own = {name for fd, name in _sockets("self").items() if _is_server(int(fd))}
        return bool(own) and any(own & set(_sockets(pid).values()) for pid in _siblings())
    return False


def _sockets(pid: str) -> dict[str, str]:
    """Return the sockets of a process; none if it has ended or belongs to another user."""
    found: dict[str, str] = {}
    with suppress(OSError):
        for each in (_PROC / pid / "fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                found[each.name] = str(each.readlink())
    return {fd: name for fd, name in found.items() if name.startswith("socket:")}


def _is_server(fd: int) -> bool:
    """Return whether a socket is bound to a port and not connected.

    Some servers start an application before they listen.
    """
    with suppress(OSError), socket.socket(fileno=os.dup(fd)) as each:
        if each.type != socket.SOCK_STREAM or each.family not in {socket.AF_INET, socket.AF_INET6}:
            return False
        with suppress(OSError):
            each.getpeername()
            return False
        return bool(each.getsockname()[1])
    return False


def _siblings() -> set[str]:
    pids: set[str] = set()
    for thread in (_PROC / str(os.getppid()) / "task").iterdir():
        pids.update((thread / "children").read_text().split())
    return pids - {str(os.getpid())}
