"""Remote A2A agents as tools of the Claude Agent SDK."""
