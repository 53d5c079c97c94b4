<<<<<<< HEAD
"""The dashboard: pages for people, made of what the REST interface answers them."""
=======
"""The dashboard: pages that are rendered on the server from the answers of the REST handlers; their static files."""
>>>>>>> assets12
