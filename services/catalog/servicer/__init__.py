"""Inbound gRPC: message to use-case to message, one module per service of the protos; no rules."""
