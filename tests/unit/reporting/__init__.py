"""Tests of the reporting service (unit)."""
