"""How many examples hypothesis makes up: few for every run, many for `make fuzz`."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("short", max_examples=100)
settings.register_profile("long", max_examples=2000)
settings.load_profile("short")
