"""From an HTTP request to a request message; compiled per operation at start."""
