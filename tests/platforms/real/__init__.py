"""Platforms' own packages with our server: `make platforms` runs each in an environment of its own.

They import nothing of the test suite but `tests.platforms.agent` and `tests.platforms.contract`.
"""
