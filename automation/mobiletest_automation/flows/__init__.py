"""The language of tests: sentences and Maestro commands, read and validated. Used by several services.

The command line has it without its extra `local`, so these modules import only the standard library, yaml and re2.
"""
