"""MongoDB: executions, runs, plans and steps, and the transactions that change them together with the outbox."""
