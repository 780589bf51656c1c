"""What a plugin's author reads: adapters, events, parts, errors, limits and hooks."""
