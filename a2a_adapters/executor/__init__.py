"""Runs adapters: the turns and the history of conversations, and adapter events as those of A2A."""
