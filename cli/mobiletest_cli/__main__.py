"""Starts the command."""

from mobiletest_cli.app import main

if __name__ == "__main__":
    main()
