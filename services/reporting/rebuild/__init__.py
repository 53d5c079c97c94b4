"""Verifies the read models against the services' own collections, and rebuilds them."""
