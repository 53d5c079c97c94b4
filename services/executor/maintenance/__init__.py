"""Background jobs: expire leases and time limits, close orphaned driver sessions, delete old artifacts."""
