"""Agents as tools of an MCP server."""
