"""The language of tests: sentences and Maestro commands, read and validated. Used by several services."""
