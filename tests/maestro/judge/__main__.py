"""Judges flows: what Maestro does, what is done here, and what differs.

    python -m tests.maestro.judge [-v] FILE_OR_FOLDER...

The screen of a flow is `screen.xml` beside it, or the file of its name with the ending .xml.
"""

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.maestro.judge import ours
from tests.maestro.judge.comparison import difference
from tests.maestro.judge.flows import NO_SCREEN, JudgedFlow, Moves
from tests.maestro.judge.maestro import judge, why_unavailable


def find_flows(place: Path) -> Iterator[JudgedFlow]:
    folder = place if place.is_dir() else place.parent
    for file in sorted(place.rglob("*.y*ml")) if place.is_dir() else [place]:
        screens = [each for each in (file.with_suffix(".xml"), file.with_name("screen.xml")) if each.exists()]
        moves = Moves(-12, 14) if "moving" in str(file.resolve()) else None
        yield JudgedFlow(
            id=str(file),
            folder=folder,
            path=file.relative_to(folder).as_posix(),
            screens=(screens[0].read_text() if screens else NO_SCREEN,),
            moves=moves,
            env={},
        )


async def main(arguments: list[str]) -> int:
    if why := why_unavailable():
        sys.exit(why)
    verbose = "-v" in arguments
    flows = [flow for name in arguments if name != "-v" for flow in find_flows(Path(name))]
    with tempfile.TemporaryDirectory() as scratch:
        outcomes = judge(flows, Path(scratch))
    same = 0
    for flow in flows:
        theirs, here = outcomes[flow.id], await ours.run(flow)
        differs = difference(flow, theirs, here)
        same += not differs
        if differs or verbose:
            print(f"{'DIFFERS' if differs else 'same'} {flow.id}: {differs}")
            for name, outcome in (("Maestro", theirs), ("here", here)):
                print(f"    {name:8}{outcome.verdict} {outcome.message}")
                for action in outcome.actions:
                    print(f"            {list(action)}")
    print(f"{same} of {len(flows)} the same")
    return int(same != len(flows))


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
