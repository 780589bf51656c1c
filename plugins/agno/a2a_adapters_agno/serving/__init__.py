"""Serving Agno's clients."""
