"""Loads the example workspace through the public REST API, runs its workflow on each build, prints the verdicts.

Run by `make run`; by hand: MOBILETEST_URL and MOBILETEST_API_KEY, then `python -m examples.load`.
"""

import asyncio
import os
import sys

from examples import verdicts, workspace
from examples.client import Client, Refused


async def main(url: str, api_key: str) -> None:
    async with Client(url, api_key) as client:
        loaded = await workspace.load(client)
        verdicts.show(loaded, await verdicts.run(client, loaded))


if __name__ == "__main__":
    try:
        given = os.environ["MOBILETEST_URL"], os.environ["MOBILETEST_API_KEY"]
    except KeyError as missing:
        sys.exit(f"Set {missing.args[0]}; `make run` writes both into .local/ready.json")
    try:
        asyncio.run(main(*given))
    except Refused as refused:
        sys.exit(str(refused))
