"""Calling: `RemoteAgent` and its transports, conversations and tools."""
