"""Workflows and agents of LlamaIndex as A2A agents."""
