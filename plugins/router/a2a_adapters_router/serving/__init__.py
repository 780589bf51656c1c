"""Serving a router as an agent with two skills."""
