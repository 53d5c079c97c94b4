"""Authentication by API keys: checked for their format, verified by the catalog, cached for a short time."""
