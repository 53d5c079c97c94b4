"""Tests of the reporting service (integration)."""
