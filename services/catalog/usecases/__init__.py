"""What the catalog does: one async method per behaviour, one class per resource."""
