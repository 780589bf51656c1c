"""Runs an adapter for one message, and writes its events as those of A2A."""
