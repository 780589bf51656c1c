"""A2A agents as agents of an editor."""
