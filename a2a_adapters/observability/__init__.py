"""What one can see of a running server: logs, figures, traces."""
