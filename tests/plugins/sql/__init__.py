"""Tests of the SQL storage on both engines."""
