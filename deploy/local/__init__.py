"""The embedded stack: mongod, a broker and the services on one machine, for `make run`, tests and benchmarks."""
