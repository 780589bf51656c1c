"""Workflows that run agents of frameworks, a module each with `Chores` and its worker's options."""
