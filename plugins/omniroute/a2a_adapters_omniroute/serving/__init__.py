"""Serving OmniRoute's clients."""
