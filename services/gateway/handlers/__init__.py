"""Answers routes: one handler for each shape of RPC, and a few functions that combine several calls."""
