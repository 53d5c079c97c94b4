"""Who is calling: API keys, checked here as far as they can be and verified by the catalog."""
