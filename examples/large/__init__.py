"""The data of a real team in an embedded stack: `python -m examples.large`."""
