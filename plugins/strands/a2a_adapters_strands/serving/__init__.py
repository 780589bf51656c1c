"""Strands agents as A2A agents."""
