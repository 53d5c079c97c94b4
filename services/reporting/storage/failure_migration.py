"""The failures of each app, summed up from their groups, which earlier versions kept alone.

Their days, branches and first runs are not in the groups: only a rebuild knows them.
"""

from collections.abc import Mapping

from pymongo import ReplaceOne

from services.chassis.mongo import Document, Mongo
from services.reporting.model.app_failures import AppFailure, FailureSighting, merge_failures
from services.reporting.model.attempts import BuildRef
from services.reporting.model.tables import FailureKey, Group, GroupKey
from services.reporting.model.variants import test_of
from services.reporting.storage.documents import BUILDS, FAILURES, GROUPS, decode_build_copy, document_id
from services.reporting.storage.generations import collection_name

WRITES_AT_ONCE = 500


async def sum_up_failures(mongo: Mongo, generation: int) -> None:
    """Name the app in each group, and store the failures of each app."""
    groups = mongo.collection(collection_name(GROUPS.collection, generation))
    app = {"$first": {"$split": ["$_id", ":"]}}
    await groups.update_many({"app_id": {"$exists": False}}, [{"$set": {"app_id": app}}])
    after = ""
    while first := await groups.find({"_id": {"$gt": after}}, {"_id": 1}).sort("_id", 1).limit(1).to_list(None):
        app_id = first[0]["_id"].partition(":")[0]
        await _sum_up_app(mongo, generation, app_id)
        after = f"{app_id};"  # the character after the colon


async def _sum_up_app(mongo: Mongo, generation: int, app_id: str) -> None:
    builds = mongo.collection(collection_name(BUILDS.collection, generation))
    known = {build["_id"]: _build_ref(build) for build in await builds.find({"app_id": app_id}).to_list(None)}
    groups = mongo.collection(collection_name(GROUPS.collection, generation))
    failures: dict[FailureKey, AppFailure] = {}
    async for document in groups.find({"_id": {"$gt": f"{app_id}:", "$lt": f"{app_id};"}}):
        key, group = GROUPS.decode(document)
        failure_key = (key[0], key[3])
        failures[failure_key] = merge_failures(failures.get(failure_key), _failure(key, group, known))
    writes = [
        ReplaceOne({"_id": document_id(key)}, FAILURES.encode(key, failure), upsert=True)
        for key, failure in failures.items()
    ]
    rows = mongo.collection(collection_name(FAILURES.collection, generation))
    for start in range(0, len(writes), WRITES_AT_ONCE):
        await rows.bulk_write(writes[start : start + WRITES_AT_ONCE], ordered=False)


def _build_ref(document: Document) -> BuildRef:
    _, build = decode_build_copy(document)
    return BuildRef(build.uploaded_at, build.build_id, build.version)


def _failure(key: GroupKey, group: Group, builds: Mapping[str, BuildRef]) -> AppFailure:
    _, subject, build_id, _ = key
    build = builds.get(build_id)
    place = (test_of(subject), "", build_id, build.version if build else "", None)
    last = FailureSighting(group.last_seen_at, group.run_id, group.execution_id, *place)
    first = last if group.count == 1 else FailureSighting(group.first_seen_at, "", "", *place)
    return AppFailure(
        org_id=group.org_id,
        category=group.category,
        reason=group.reason,
        sample_message=group.sample_message,
        count=group.count,
        first=first,
        last=last,
        newest_build=build,
        days=(),
        step_index=group.step_index,
        position=group.position,
    )
