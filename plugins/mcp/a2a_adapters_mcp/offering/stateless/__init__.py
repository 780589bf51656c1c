"""The stateless protocol of 2026-07-28: tasks instead of sessions."""
