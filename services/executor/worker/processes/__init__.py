"""Attempts in processes of their own, which cannot keep the worker from renewing leases."""
