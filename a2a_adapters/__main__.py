"""`python -m a2a_adapters`."""

from __future__ import annotations

from a2a_adapters.cli import main

main()
