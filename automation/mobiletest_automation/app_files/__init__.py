"""Reads APKs and iOS apps: package, version, and what no device can install.

The catalog inspects uploads with it, and the command line finds the app of a file. The command line has it without its
extra `local`, so these modules import only `flows` and the standard library.
"""
