"""Uploading and downloading files."""
