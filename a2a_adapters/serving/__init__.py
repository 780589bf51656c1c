"""One way in: from a target to a server."""
