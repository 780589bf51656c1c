"""Replicas: several server processes on one database."""
