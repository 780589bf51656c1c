"""The client side: Agno's servers, called by `RemoteAgent`."""
