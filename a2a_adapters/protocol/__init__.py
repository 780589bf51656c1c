"""A2A's data model and formats, without I/O."""
