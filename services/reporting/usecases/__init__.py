"""One async method per behaviour: applying events, and computing reports."""
