"""Tokens of OAuth 2.0 for agents: where they come from, where they are kept, who gets them."""
