"""The dashboard: pages for people, made of what the REST interface answers them."""
