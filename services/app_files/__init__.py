"""App files of Android and iOS, read within limits: what is in them, and what no device can install.

The catalog inspects uploads with it. The command line, which finds the app of a file, ships this package as
`mobiletest_cli.app_files`, on Python 3.10: so its modules import each other and `flows` by relative names, and besides
them only the standard library.
"""
