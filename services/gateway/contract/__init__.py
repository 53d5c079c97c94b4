"""The REST interface as the protos define it, read from the descriptors at start."""
