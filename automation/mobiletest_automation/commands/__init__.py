"""Runs Maestro's commands on a device."""
