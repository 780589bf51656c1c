"""Serving: builds applications and servers from targets."""
