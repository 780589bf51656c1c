"""A2A's words and shapes, without any input or output."""
