"""Calling Agno's servers with `RemoteAgent`."""
