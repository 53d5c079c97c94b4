"""The operations that callers can request."""
