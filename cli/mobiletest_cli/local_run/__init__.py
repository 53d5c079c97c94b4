"""Runs flows in this process, without a server. The extra `local` of the distribution has what it needs."""
