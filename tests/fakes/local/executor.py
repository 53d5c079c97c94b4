"""The stand-in for the executor."""

from tests.fakes.local.service import serve

if __name__ == "__main__":
    serve("executor")
