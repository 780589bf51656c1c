"""Logs, metrics and traces of a running server."""
