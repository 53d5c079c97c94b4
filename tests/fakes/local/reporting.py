"""The stand-in for the reporting."""

from tests.fakes.local.service import serve

if __name__ == "__main__":
    serve("reporting")
