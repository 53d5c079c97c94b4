"""The supervisor's `run` over the stand-ins, without examples: `python -m tests.fakes.local`."""

import asyncio
import sys
from dataclasses import replace

from deploy.local.__main__ import until_signal
from deploy.local.settings import from_environment

if __name__ == "__main__":
    chosen = replace(from_environment(), package="tests.fakes.local", examples=False)
    sys.exit(asyncio.run(until_signal(chosen, once="--once" in sys.argv)))
