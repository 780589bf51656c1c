"""From an adapter's events to A2A, on any a2a-sdk server."""
