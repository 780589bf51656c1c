"""Hostile callers against a default server of its own, over loopback only."""
