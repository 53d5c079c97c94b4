"""Readers of page sources: each format is converted to elements."""
