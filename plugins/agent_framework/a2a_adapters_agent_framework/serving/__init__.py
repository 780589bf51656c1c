"""Agents of Agent Framework as A2A agents."""
