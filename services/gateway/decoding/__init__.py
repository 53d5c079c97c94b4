"""Decoding of HTTP requests into request messages, with pydantic schemas that are built at start."""
