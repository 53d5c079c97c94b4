"""Verdicts of many cells in few documents: MongoDB groups the cells by what they share, and sends a row for each.

A row takes the driver a twentieth of the time that it needs for a document with its subdocuments and moments.
"""

from collections.abc import Sequence

from services.reporting.model.reports.breakage import BuildVerdict
from services.reporting.model.snapshots import Outcome
from services.reporting.model.tables import LastRun, SourceRevision
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


def decode_verdict_rows(group: Document) -> Sequence[BuildVerdict]:
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
