"""Runs adapters on any a2a-sdk server."""
