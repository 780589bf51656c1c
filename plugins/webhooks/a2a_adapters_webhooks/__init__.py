"""Receives push notifications of remote agents."""
