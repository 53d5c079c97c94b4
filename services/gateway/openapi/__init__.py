"""The OpenAPI 3.1 document, from the same descriptors as the routes."""
