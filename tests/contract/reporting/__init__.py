"""Tests of the reporting service (contract)."""
