"""The results of runs, which earlier versions kept only in what lists show of them."""

from google.protobuf.message import DecodeError
from mobiletest.reporting.v1 import reports_pb2
from pymongo import UpdateOne

from services.chassis.mongo import Document, Mongo
from services.reporting.model.snapshots import RunResult, Status, run_result
from services.reporting.storage.documents import RUNS
from services.reporting.storage.generations import collection_name

RUNS_AT_ONCE = 500
_ENDED = [status.value for status in Status if status.terminal]


async def name_results(mongo: Mongo, generation: int) -> None:
    """Name the result of each run that ended and is in lists. What cannot be read stays without one."""
    runs = mongo.collection(collection_name(RUNS.collection, generation))
    wanted = {"status": {"$in": _ENDED}, "listed_at": {"$exists": True}, "result": {"$exists": False}}
    fields, last = ("revision", "status", "list_item"), ""
    while (
        page := await runs.find({"_id": {"$gt": last}, **wanted}, fields).sort("_id", 1).limit(RUNS_AT_ONCE).to_list()
    ):
        last = page[-1]["_id"]
        if writes := [_write(run, result) for run in page if (result := _result(run))]:
            await runs.bulk_write(writes, ordered=False)


def _write(run: Document, result: RunResult) -> UpdateOne:
    """Nothing is changed of a run of which an event has come meanwhile."""
    same = {"_id": run["_id"], "revision": run["revision"], "listed_at": {"$exists": True}}
    return UpdateOne(same, {"$set": {"result": result.value}})


def _result(run: Document) -> RunResult | None:
    try:
        item = reports_pb2.BuildRunItem.FromString(run["list_item"])
    except DecodeError:
        return None
    flaky = item.report_metadata.fields["flaky"].bool_value
    return run_result(Status(run["status"]), success=item.success, flaky=flaky)
