"""The client side: gateways, called by `RemoteAgent` and by OmniRoute's own names."""
