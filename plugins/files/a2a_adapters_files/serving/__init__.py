"""Storing files on the server."""
