"""Serving the runtime's operations as gRPC services."""
