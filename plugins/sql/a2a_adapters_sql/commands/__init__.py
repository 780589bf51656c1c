"""The commands `db` and `tasks`."""
