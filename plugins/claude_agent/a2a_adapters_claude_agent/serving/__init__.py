"""Agents of the Claude Agent SDK as adapters."""
