"""Shared by all tests."""

from __future__ import annotations

import os

# Blocks a2a-sdk's spans: they are not under test, and cost more than what is.
os.environ.setdefault("OTEL_INSTRUMENTATION_A2A_SDK_ENABLED", "false")
