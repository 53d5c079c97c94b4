"""What executions, runs and attempts are, and the rules of their lives; standard library only."""
