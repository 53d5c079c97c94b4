"""The model as proto messages and back; used by the servicer, the events and the catalog's client."""
