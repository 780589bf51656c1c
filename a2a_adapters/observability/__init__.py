"""Logs and metrics of a running server, and the delay of its event loop."""
