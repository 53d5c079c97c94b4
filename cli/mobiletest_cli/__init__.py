"""The command `mobiletest`: uploads builds, imports flows, starts executions, and says how they ended."""

__version__ = "0.2.0"
