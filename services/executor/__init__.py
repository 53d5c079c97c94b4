"""Starts executions, distributes their runs to workers, and reports the results."""
