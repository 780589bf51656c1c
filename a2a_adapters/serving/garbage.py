"""The garbage collector beside a server: what a server has loaded is much, and stays."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def settled() -> Generator[None]:
    """Have the collector look no more, inside, at what is imported and built by now.

    A process in which something is frozen already does so itself, or serves another app that has
    done so: there nothing is changed.
    """
    if gc.get_freeze_count():
        yield
        return
    gc.collect()  # what is garbage by now would stay as well
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
