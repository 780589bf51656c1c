"""The interface for plugin authors: adapters, events, parts, errors, limits and hooks."""
