"""The API documentation: the OpenAPI document as a page, with examples that the service gave."""
