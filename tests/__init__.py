"""Tests of the package and its plugins, and settings that libraries read when they are imported."""

from __future__ import annotations

import os

# Disables a2a-sdk's spans: they are not tested, and cost more than the tested code.
os.environ.setdefault("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")

# Makes waiting threads of a local model yield the processor.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
