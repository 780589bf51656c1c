"""The server side: the runtime's operations as gRPC services."""
