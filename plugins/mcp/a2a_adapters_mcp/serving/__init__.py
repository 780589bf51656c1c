"""MCP servers as A2A agents."""
