"""The language of tests: sentences and Maestro commands, read and validated. Used by several services.

The command line ships this package, too, as `mobiletest_cli.flows`, on Python 3.10: so its modules import each other by
relative names, and besides them only the standard library, yaml and re2.
"""
