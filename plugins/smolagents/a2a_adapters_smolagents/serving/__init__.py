"""Agents of smolagents as A2A agents."""
