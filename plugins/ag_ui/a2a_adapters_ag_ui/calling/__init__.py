"""Calls AG-UI endpoints."""
