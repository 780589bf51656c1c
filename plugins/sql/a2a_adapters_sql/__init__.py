"""SQLite and PostgreSQL: storage, recovery, and processes that share a database."""
