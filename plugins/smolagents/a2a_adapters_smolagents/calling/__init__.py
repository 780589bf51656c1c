"""Remote A2A agents as objects of smolagents."""
