"""The stand-in for the executor; `republish` only says that it was called."""

import sys

from tests.fakes.local.service import note_republish, serve

if __name__ == "__main__":
    if sys.argv[1:2] == ["republish"]:
        note_republish("executor")
    else:
        serve("executor")
