"""Background work of the executor: expired leases, orphaned sessions, retention."""
