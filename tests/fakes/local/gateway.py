"""The stand-in for the gateway."""

from tests.fakes.local.service import serve

if __name__ == "__main__":
    serve("gateway")
