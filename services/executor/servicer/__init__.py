"""Inbound gRPC: proto -> use-case -> proto."""
