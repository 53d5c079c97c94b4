"""The catalog in MongoDB: documents, queries, indexes; one module per resource."""
