"""A2A agents for editors."""
