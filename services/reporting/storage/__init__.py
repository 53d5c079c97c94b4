"""The read models in MongoDB: documents, transactions, lookups and indexes."""
