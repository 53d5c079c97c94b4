"""The language that tests are written in: sentences and commands, read and checked; knows no service."""
