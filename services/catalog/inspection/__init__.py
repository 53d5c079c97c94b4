"""Reads package name and version from an uploaded artifact, in a child process with hard limits."""
