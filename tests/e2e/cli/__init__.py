"""The command line against a started stack, as a process of its own."""
