"""Agents of the OpenAI Agents SDK as A2A agents."""
