"""The dashboard: pages that are rendered on the server from the answers of the REST handlers; their static files."""
