"""Calling gateways with `RemoteAgent` and with OmniRoute's own methods."""
