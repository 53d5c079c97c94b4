"""Encoding of response messages into JSON, with encoders that are compiled at start."""
