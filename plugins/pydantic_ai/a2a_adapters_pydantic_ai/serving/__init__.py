"""Pydantic AI agents as A2A agents."""
