"""Starts executions, gives their runs to workers, and says how they ended."""
