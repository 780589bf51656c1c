"""AutoGen agents and teams as A2A agents."""
