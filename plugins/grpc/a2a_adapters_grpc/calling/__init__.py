"""Calling agents over gRPC with `RemoteAgent`."""
