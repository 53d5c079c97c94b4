"""Searches of the verdicts nearest to one build for many tests at once: distinct scans of the index of verdicts.

A scan takes the first key of each test from the index and skips the rest, so that it costs the same for any number of
builds, and a tenth of the lookups of as many cells. It needs one branch, one outcome and one moment for all its tests.

The verdicts of many cells come in few documents: MongoDB groups the cells by what they share, and sends a row for each.
A row takes the driver a twentieth of the time that it needs for a document with its subdocuments and moments.
"""

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product

from services.chassis.context import current
from services.chassis.fair_turns import FairTurns
from services.chassis.org_collection import OrgCollection
from services.chassis.turns import in_turns
from services.reporting.model.reports.breakage import BuildVerdict, SearchSide, VerdictQuery
from services.reporting.model.snapshots import Outcome
from services.reporting.model.sources import SourceRevision
from services.reporting.model.tables import CellKey, LastRun
from services.reporting.storage.subdocuments import Document, from_ms

# Bounds the documents of MongoDB, and what is decoded without a pause for others.
CELLS_AT_ONCE = 1000
VERDICT_FIELDS = ("app_id", "test_id", "build_id", "uploaded_at", "named_verdict", "passed", "failed")
_SHARED = {
    "app_id": "$app_id",
    "build_id": "$build_id",
    "uploaded_at": "$uploaded_at",
    "outcome": "$named_verdict.outcome",
    "branch": "$named_verdict.branch",
    "commit_sha": "$named_verdict.commit_sha",
}
_ROW = [
    "$test_id",
    {"$toLong": "$named_verdict.ended_at"},
    "$named_verdict.run_id",
    "$named_verdict.execution_id",
    "$named_verdict.seconds",
    "$passed",
    "$failed",
]
# The last stage of a pipeline whose documents have `VERDICT_FIELDS`, with a verdict. It pushes no array as it is.
VERDICT_ROWS: Document = {"$group": {"_id": _SHARED, "rows": {"$push": {"$concatArrays": [_ROW]}}}}
# Lookups of fewer tests cost no more than a scan.
FEWEST_TESTS = 20
_INDEX = ("org_id", "app_id", "test_id", "named_verdict.branch", "named_verdict.outcome")
_INCLUSIVE = {SearchSide.BEFORE: "$lte", SearchSide.AFTER: "$gte"}
# The outcome that most places have: searches go back from failures, and forward from passes.
_OF_PLACE = {SearchSide.BEFORE: Outcome.FAILED, SearchSide.AFTER: Outcome.PASSED}
Seen = dict[str, BuildVerdict]  # by test


def _decode_verdict_rows(group: Document) -> Sequence[BuildVerdict]:
    """The verdicts of a document of `VERDICT_ROWS`, which are all on one build and of one branch."""
    shared = group["_id"]
    app_id, build_id, uploaded_at = shared["app_id"], shared["build_id"], shared["uploaded_at"]
    outcome, branch, commit_sha = Outcome(shared["outcome"]), shared["branch"], shared.get("commit_sha")
    build_verdicts: list[BuildVerdict] = []
    for test_id, ended, run_id, execution_id, seconds, passed, failed in group["rows"]:
        at = from_ms(ended)
        run, named = LastRun(at, run_id, execution_id, outcome, seconds), SourceRevision(at, run_id, branch, commit_sha)
        build_verdicts.append(BuildVerdict((app_id, test_id, build_id), uploaded_at, run, named, passed, failed))
    return build_verdicts


@dataclass(frozen=True, slots=True)
class ScanStart:
    """The build of an app that a search starts from."""

    app_id: str
    build_id: str
    uploaded_at: datetime

    @property
    def build_order(self) -> tuple[datetime, str]:
        return (self.uploaded_at, self.build_id)


@dataclass(frozen=True, slots=True)
class Scan:
    """A search from one place on one branch for one outcome."""

    place: ScanStart
    side: SearchSide
    branch: str
    outcome: Outcome

    @property
    def newest(self) -> bool:
        return self.side in (SearchSide.BEFORE, SearchSide.OTHER)

    def fits(self, seen: BuildVerdict) -> bool:
        """Whether the verdict is on the side that is searched."""
        if self.side is SearchSide.FIRST:
            return True
        if self.side is SearchSide.OTHER:
            return seen.build_id != self.place.build_id
        before = seen.build_order < self.place.build_order
        return before if self.side is SearchSide.BEFORE else seen.build_order > self.place.build_order


class VerdictScans:
    """Searches in one collection of cells at a time; see `VerdictQuery`, with storms."""

    def __init__(self, fewest_tests: int, turns: FairTurns) -> None:
        """`turns`: those of the organisations at MongoDB, which runs a scan on one core."""
        self._fewest_tests = fewest_tests
        self._turns = turns

    async def find(
        self, cells: OrgCollection, uploads: Mapping[CellKey, datetime], query: VerdictQuery
    ) -> tuple[dict[CellKey, BuildVerdict], set[CellKey]]:
        """What was found by cell, and the cells that are not decided. `uploads`: when their builds were uploaded."""
        tests_of: defaultdict[tuple[str, str, datetime], list[str]] = defaultdict(list)
        async for (app_id, test_id, build_id), uploaded_at in in_turns(uploads.items()):
            tests_of[app_id, build_id, uploaded_at].append(test_id)
        groups = {ScanStart(*place): tests for place, tests in tests_of.items()}
        few = {place: tests for place, tests in groups.items() if len(tests) < self._fewest_tests}
        parts = [
            (place, tests[start : start + CELLS_AT_ONCE])
            for place, tests in groups.items()
            if place not in few
            for start in range(0, len(tests), CELLS_AT_ONCE)
        ]
        answers = await asyncio.gather(*(self._part(cells, place, part, query) for place, part in parts))
        nearest: dict[CellKey, BuildVerdict] = {}
        undecided = {_key(place, test) for place, tests in few.items() for test in tests}
        async for (place, _), (best, ties) in in_turns(zip(parts, answers, strict=True)):
            app_id, build_id = place.app_id, place.build_id
            nearest.update(((app_id, test, build_id), seen) for test, seen in best.items())
            undecided.update(_key(place, test) for test in ties)
        return nearest, undecided

    async def _part(
        self, cells: OrgCollection, place: ScanStart, tests: Sequence[str], query: VerdictQuery
    ) -> tuple[dict[str, BuildVerdict], set[str]]:
        """By test, the nearest of what each branch and outcome has; and the tests that are not decided."""
        pairs = product(query.branches, query.outcomes)
        scans = [Scan(place, query.side, branch, outcome) for branch, outcome in pairs]
        async with self._turns.take(current().org_id):
            answers = [await _scan(cells, scan, tests) for scan in scans]
        ties: set[str] = set().union(*(undecided for _, undecided in answers))
        best: Seen = {}
        nearer = max if query.side in (SearchSide.BEFORE, SearchSide.OTHER) else min
        for nearest, _ in answers:
            both = nearest.keys() & best.keys()
            best |= nearest | {test: nearer(best[test], nearest[test], key=_build_order) for test in both}
        return {test: seen for test, seen in best.items() if test not in ties} if ties else best, ties


async def _scan(cells: OrgCollection, scan: Scan, tests: Collection[str]) -> tuple[Seen, set[str]]:
    """Most often the first key is the answer. It may be that of the place itself, which hides what comes after it."""
    if scan.outcome is _OF_PLACE.get(scan.side):
        return await _behind(cells, scan, tests)
    seen = await _first_keys(cells, scan, tests, _INCLUSIVE.get(scan.side))
    nearest = _by_test(group for group in seen if scan.fits(group[0]))
    hidden = {verdict.key[1] for group in seen if not scan.fits(group[0]) for verdict in group}
    if not hidden:
        return nearest, set()
    behind, ties = await _behind(cells, scan, hidden)
    return nearest | behind, ties


async def _behind(cells: OrgCollection, scan: Scan, tests: Collection[str]) -> tuple[Seen, set[str]]:
    """What comes after the place, for tests whose first key is most often that of the place itself."""
    ties = await _ties(cells, scan, tests)
    rest = [test for test in tests if test not in ties] if ties else tests
    return _by_test(await _first_keys(cells, scan, rest, "$lt" if scan.newest else "$gt")), ties


async def _first_keys(
    cells: OrgCollection, scan: Scan, tests: Collection[str], compares: str | None
) -> list[Sequence[BuildVerdict]]:
    """Those of each build together."""
    newest = -1 if scan.newest else 1
    order = dict.fromkeys(_INDEX, -newest) | {"uploaded_at": newest, "build_id": newest}
    pipeline: list[Document] = [
        {"$match": _match(scan, tests) | ({"uploaded_at": {compares: scan.place.uploaded_at}} if compares else {})},
        {"$sort": order},
        {"$group": {"_id": "$test_id", **{name: {"$first": f"${name}"} for name in VERDICT_FIELDS}}},
        VERDICT_ROWS,
    ]
    return [_decode_verdict_rows(group) for group in await cells.aggregate(pipeline)]


def _by_test(groups: Iterable[Sequence[BuildVerdict]]) -> Seen:
    return {verdict.key[1]: verdict for group in groups for verdict in group}


async def _ties(cells: OrgCollection, scan: Scan, tests: Iterable[str]) -> set[str]:
    """Tests with a verdict on another build, on the side searched, that was uploaded at the moment of the place."""
    compares = "$lt" if scan.newest else "$gt"
    beside = {"uploaded_at": scan.place.uploaded_at, "build_id": {compares: scan.place.build_id}}
    documents = await cells.find(_match(scan, tests) | beside, {"_id": 0, "test_id": 1}).to_list(None)
    return {document["test_id"] for document in documents}


def _match(scan: Scan, tests: Iterable[str]) -> Document:
    return {
        "app_id": scan.place.app_id,
        "test_id": {"$in": list(tests)},
        "named_verdict.branch": scan.branch,
        "named_verdict.outcome": scan.outcome.value,
    }


def _key(place: ScanStart, test_id: str) -> CellKey:
    return (place.app_id, test_id, place.build_id)


def _build_order(seen: BuildVerdict) -> tuple[datetime, str]:
    return seen.build_order
