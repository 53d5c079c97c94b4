"""Stand-ins for the services that answer the supervisor's questions, and `python -m tests.fakes.local` to run them."""
