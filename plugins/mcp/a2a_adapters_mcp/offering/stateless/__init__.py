"""The protocol of 2026-07-28, in which each request stands alone: no sessions, but tasks."""
