"""HTTP: connections, routes, bodies, responses and errors; it knows no endpoint."""
