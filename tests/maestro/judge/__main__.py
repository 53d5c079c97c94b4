"""Judges flows: what Maestro does, what is done here, and what differs.

    python -m tests.maestro.judge [-v] FILE_OR_FOLDER...
    python -m tests.maestro.judge [-v] --random COUNT [--seed NUMBER]

The screen of a flow is the file of its name with the ending .xml, or `screen.xml` beside it. In a folder with a
`device.md` the list goes on moving after a swipe.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.maestro.battery import MOVES
from tests.maestro.generator import generated
from tests.maestro.judge import ours
from tests.maestro.judge.comparison import difference
from tests.maestro.judge.flows import NO_SCREEN, JudgedFlow, Outcome
from tests.maestro.judge.maestro import judge, why_unavailable


def find_flows(place: Path) -> Iterator[JudgedFlow]:
    folder = place if place.is_dir() else place.parent
    for file in sorted(place.rglob("*.y*ml")) if place.is_dir() else [place]:
        screens = [each for each in (file.with_suffix(".xml"), file.with_name("screen.xml")) if each.exists()]
        yield JudgedFlow(
            id=str(file),
            folder=folder,
            path=file.relative_to(folder).as_posix(),
            screens=(screens[0].read_text() if screens else NO_SCREEN,),
            moves=MOVES if file.with_name("device.md").exists() else None,
            env={},
        )


async def compare(flows: Sequence[JudgedFlow], scratch: Path, *, verbose: bool) -> int:
    """Prints what differs. Returns how many flows do."""
    outcomes, differing = judge(flows, scratch), 0
    for flow in flows:
        theirs, here = outcomes[flow.id], await ours.run(flow)
        differs = difference(flow, theirs, here)
        differing += bool(differs)
        if differs or verbose:
            print(f"{'DIFFERS' if differs else 'same'} {flow.id}: {differs}")
            _print_outcome("Maestro", theirs)
            _print_outcome("here", here)
    print(f"{len(flows) - differing} of {len(flows)} the same")
    return differing


def _print_outcome(who: str, outcome: Outcome) -> None:
    print(f"    {who:8}{outcome.verdict} {outcome.message}")
    for action in outcome.actions:
        print(f"            {list(action)}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.maestro.judge")
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-v", "--verbose", action="store_true")
    given = parser.parse_args()
    if why := why_unavailable():
        sys.exit(why)
    with tempfile.TemporaryDirectory() as folder:
        flows = [flow for path in given.paths for flow in find_flows(path)]
        flows += [section.write(Path(folder) / "flows") for section in generated(given.random, given.seed)]
        return int(asyncio.run(compare(flows, Path(folder), verbose=given.verbose)) > 0)


if __name__ == "__main__":
    sys.exit(main())
