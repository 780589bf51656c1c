"""The client side: `RemoteAgent` calls agents over gRPC."""
