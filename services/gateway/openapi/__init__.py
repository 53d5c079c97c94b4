"""The OpenAPI 3.1 document, built from the same descriptors as the routes."""
