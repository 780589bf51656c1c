"""Plain functions as A2A agents."""
