"""Coding agents as A2A agents."""
