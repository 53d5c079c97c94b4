"""Folds in processes that are killed at each command to MongoDB.

    python -m tests.fault.reporting.killed_projector URI DATABASE SEED

For every command of a fold's transaction, one process is killed before it is sent and one after it was answered. Each
has its own organisation, so that the locks it leaves block no other. Then the events are folded again, as after a
redelivery, and compared with a recount. One line of JSON per kill; the last line says that no command is left.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from pymongo import MongoClient, monitoring

from services.chassis.events import Event
from services.chassis.migrations import open_migrated
from services.chassis.mongo import Mongo
from services.chassis.retry import is_transient
from services.reporting.events import parse_event
from services.reporting.model.batch import Batch
from services.reporting.storage.projections import MongoProjections
from services.reporting.storage.schema import MIGRATIONS
from services.reporting.usecases.projector import Projector
from tests.contract.reporting.projections import stored
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_stored_bytes import contents, differences
from tests.fault.reporting.event_generator import Organisation

RUNS = 80
HOUSEKEEPING = {"hello", "ismaster", "ping", "endSessions"}
MOMENTS = ("before", "after")
MOST_COMMANDS = 200


class KillAtCommand(monitoring.CommandListener):
    """Kills this process at the n-th command, before it is sent or after it was answered."""

    def __init__(self, number: int, moment: str) -> None:
        self._number = number
        self._moment = moment
        self._seen = 0
        self.armed = False

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        if self.armed and event.command_name not in HOUSEKEEPING:
            self._seen += 1
            self._perhaps("before", event.command_name)

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        if self.armed and event.command_name not in HOUSEKEEPING:
            self._perhaps("after", event.command_name)

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        """Nothing: the command's repetition counts."""

    def _perhaps(self, moment: str, command: str) -> None:
        if (moment, self._seen) == (self._moment, self._number):
            os.write(1, (json.dumps({"killed": self._seen, "moment": moment, "command": command}) + "\n").encode())
            os.kill(os.getpid(), signal.SIGKILL)


class ProjectorRun:
    """A database, and the events of one organisation in two batches."""

    def __init__(self, uri: str, database: str, seed: int) -> None:
        self.uri = uri
        self.database = database
        self._seed = seed

    def batches(self, org_id: str) -> tuple[list[Event], list[Event]]:
        """The events folded before, and those during whose fold the process dies."""
        chance = Random(self._seed)
        events = list(Organisation(org_id, chance).events(RUNS))
        chance.shuffle(events)
        return events[: len(events) // 2], events[len(events) // 2 :]

    async def migrate(self) -> None:
        async with open_migrated(self.uri, self.database, MIGRATIONS):
            pass

    async def die(self, org_id: str, death: KillAtCommand) -> None:
        """Fold both batches, the second one armed."""
        mongo = await Mongo.connect(self.uri, self.database)
        first, second = self.batches(org_id)
        folding = Projector(MongoProjections(mongo))
        await _fold(folding, first)
        death.armed = True
        await _fold(folding, second)
        death.armed = False
        await mongo.close()

    async def repeat(self, org_id: str) -> None:
        """Fold the second batch again, and report how the read models differ from a recount."""
        mongo = await Mongo.connect(self.uri, self.database)
        first, second = self.batches(org_id)
        await _fold(Projector(MongoProjections(mongo)), second)
        await mongo.close()
        expected = contents(recount(snapshot for event in first + second if (snapshot := parse_event(event))))
        client: MongoClient[dict[str, Any]] = MongoClient(self.uri)
        with client:
            actual = stored(client, self.database, {"org_id": org_id})
        print(json.dumps({"repeated": org_id, "differences": differences(actual, expected)}), flush=True)


async def _fold(folding: Projector, events: list[Event]) -> None:
    """Until it succeeds, as the consumer does."""
    while True:
        try:
            await folding.apply_events(Batch.of(snapshot for event in events if (snapshot := parse_event(event))))
        except Exception as error:
            if not is_transient(error):
                raise
        else:
            return


def forked(work: Callable[[], Coroutine[Any, Any, None]]) -> int:
    """The pid of a process that does this and ends."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            asyncio.run(work())
            code = 0
        finally:
            os._exit(code)
    return pid


def ended(pid: int) -> int:
    """Its exit code; negative: the signal that killed it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def died(place: ProjectorRun, org_id: str, number: int, moment: str) -> bool:
    """Whether a fold was killed at that command; False when it has fewer."""

    async def fold() -> None:
        death = KillAtCommand(number, moment)
        monitoring.register(death)
        await place.die(org_id, death)

    code = ended(forked(fold))
    assert code in (0, -signal.SIGKILL), f"the fold of {org_id} ended with {code}"
    return code != 0


def main(uri: str, database: str, seed: str) -> None:
    place = ProjectorRun(uri, database, int(seed))
    assert ended(forked(place.migrate)) == 0
    killed = []
    for number in range(1, MOST_COMMANDS):
        at = [f"step-{number}-{moment}" for moment in MOMENTS if died(place, f"step-{number}-{moment}", number, moment)]
        if not at:
            break
        killed += at
    for org_id in killed:
        assert ended(forked(lambda org_id=org_id: place.repeat(org_id))) == 0, org_id  # type: ignore[misc]
    print(json.dumps({"kills": len(killed)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
