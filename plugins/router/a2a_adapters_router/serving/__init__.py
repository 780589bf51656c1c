"""The server side: a router answers as an agent with two skills."""
