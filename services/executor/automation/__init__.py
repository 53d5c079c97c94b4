"""Runs the steps of a test on a device: understands, acts, waits, and says what happened."""
