"""`python -m examples.large`: fill the embedded stack that runs on MOBILETEST_STATE_DIR (.local) with a team's data.

`python -m examples.large queue` fills only the queue again, which empties in the meantime, and asks a person again.
"""

import asyncio
import os
import sys
import time
from pathlib import Path

from examples.client import Client, Refused
from examples.large import filling, present
from examples.large.backdating import Ages, backdate
from examples.large.embedded import EmbeddedStack, Organisation, Unusable
from examples.large.team import LARGE, OTHER_ORGANISATION, Size, plan_team

_NAMES = {"Piggy Bank AG": LARGE, "Harbour Lines": OTHER_ORGANISATION}


async def main(folder: Path, *, only_queue: bool) -> None:
    stack = EmbeddedStack.find(folder)
    began = time.monotonic()
    for name, size in _NAMES.items():
        organisation = stack.organisations().get(name)
        if organisation is None or not organisation.complete:
            organisation = await load(stack, name, size)
        elif not only_queue:
            print(f"{name} is here already: nothing is changed")
            continue
        await show_present(stack, organisation, size)
        print(f"{name}: {stack.url}, API key {organisation.api_key} ({time.monotonic() - began:.0f} s)")


async def load(stack: EmbeddedStack, name: str, size: Size) -> Organisation:
    """A new organisation with the history of a team of this size; what an interrupted load has left stays unused."""
    organisation = await stack.new_organisation(name)
    stack.keep(organisation)
    team = plan_team(size)
    async with Client(stack.url, organisation.api_key) as client:
        filled = await filling.fill(client, team)
        print(f"{name}: {len(filled.executions)} executions have ended, their times are moved into the past")
        await filling.until_reported(client, filled)
        await backdate(stack, Ages(organisation.org_id, filled.builds, filled.executions))
        await present.quarantine(client, team, filled.tests)
        if size.queue:
            await present.lose_worker(stack, client)
    complete = Organisation(name, organisation.org_id, organisation.api_key, complete=True)
    stack.keep(complete)
    return complete


async def show_present(stack: EmbeddedStack, organisation: Organisation, size: Size) -> None:
    """Let runs wait, and one ask a person."""
    if size.queue:
        async with Client(stack.url, organisation.api_key) as client:
            await present.ask(client)
            await present.fill_queue(client, size.queue)


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["queue"]):
        sys.exit(__doc__)
    try:
        state = Path(os.environ.get("MOBILETEST_STATE_DIR") or ".local").absolute()
        asyncio.run(main(state, only_queue=sys.argv[1:] == ["queue"]))
    except (Refused, Unusable) as error:
        sys.exit(str(error))
