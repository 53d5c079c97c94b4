"""The domain model: executions, runs and attempts, and the rules of their life cycle. Standard library only."""
