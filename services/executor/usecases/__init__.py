"""What callers can ask of executions."""
