"""OAuth 2.0 tokens for agents: requesting, storing and sending them."""
