"""Serves agents to AG-UI's clients."""
