"""The schema: a migration that may run again, validators that refuse, and an index for every query that lists."""

from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from pymongo.errors import WriteError

from services.catalog.storage.migrations import INDEXES, MIGRATIONS, RULES
from services.chassis.mongo import Mongo

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_a_migration_that_died_in_the_middle_runs_again(storage: Mongo) -> None:
    await storage.collection("apps").drop_index("list")
    await storage.collection("upload_reservations").drop()
    for migration in MIGRATIONS:
        await migration.apply(storage)
    for name, indexes in INDEXES.items():
        assert set(await storage.collection(name).index_information()) == {
            "_id_",
            *(i.document["name"] for i in indexes),
        }


@pytest.mark.parametrize("collection", RULES)
async def test_a_document_without_its_fields_is_refused(storage: Mongo, collection: str) -> None:
    with pytest.raises(WriteError, match="failed validation"):
        await storage.collection(collection).insert_one({"_id": str(uuid4())})


WRONG = [
    ("apps", {"platform": "ios"}),
    ("apps", {"versions_count": -1}),
    ("builds", {"version": ""}),
    ("builds", {"sha256": "ABC"}),
    ("api_keys", {"secret_sha256": "the secret itself"}),
    ("artifacts", {"uses": -1}),
]


@pytest.mark.parametrize(("collection", "wrong"), WRONG)
async def test_a_document_with_a_wrong_value_is_refused(storage: Mongo, collection: str, wrong: dict[str, Any]) -> None:
    """The validator names the value, so that the other fields are seen to be right."""
    with pytest.raises(WriteError) as refusal:
        await storage.collection(collection).insert_one(dict(wrong))
    rules = (refusal.value.details or {})["errInfo"]["details"]["schemaRulesNotSatisfied"]
    [properties] = [rule for rule in rules if rule["operatorName"] == "properties"]
    assert {each["propertyName"] for each in properties["propertiesNotSatisfied"]} == set(wrong)


LIST = {"created_at": -1, "_id": -1}
QUERIES: list[tuple[str, dict[str, Any], dict[str, int], str]] = [
    ("apps", {"live": True}, LIST, "list"),
    ("apps", {"live": True, "platform": "iOS"}, LIST, "list_of_platform"),
    ("builds", {"app_id": "a", "live": True}, {"uploaded_at": -1, "_id": -1}, "list_of_app"),
    ("builds", {"app_id": "a", "version": "1", "live": True}, {}, "version"),
    ("builds", {"app_id": {"$in": ["a", "b"]}, "version": {"$in": ["1", "2"]}, "live": True}, {}, "version"),
    ("tests", {"live": True}, LIST, "list"),
    ("tests", {"live": True, "platform": "iOS"}, LIST, "list_of_platform"),
    ("tests", {"live": True, "tags": "x"}, LIST, "list_of_tag"),
    ("tests", {"tags": {"$in": ["x"]}, "live": True}, {"name_folded": 1, "_id": 1}, "tagged"),
    ("tests", {"quarantine.until": {"$gt": datetime(2026, 1, 1, tzinfo=UTC)}, "live": True}, {}, "quarantined"),
    ("test_versions", {"test_id": "t"}, {"version_number": -1}, "list"),
    ("attachments", {"app_id": "a", "attached": True}, {"name_folded": 1, "test_id": 1}, "of_app"),
    ("attachments", {"test_id": {"$in": ["t"]}, "attached": True}, {}, "of_test"),
    ("workflows", {"live": True}, LIST, "list"),
    ("workflows", {"test_ids": "t", "live": True}, {}, "with_test"),
    ("counters", {}, {}, "organisation"),
]


ORG = str(uuid4())


def crowd(number: int) -> dict[str, Any]:
    """One of many documents, with the fields that any of the queries asks for."""
    return {
        "_id": f"{ORG}/{number}",
        "org_id": ORG,
        "app_id": f"a{number % 20}",
        "test_id": f"t{number % 30}",
        "test_ids": [f"t{number % 30}"],
        "tags": [f"x{number % 30}"],
        "platform": "iOS" if number % 10 == 0 else "Android",
        "version": str(number),
        "version_number": number,
        "name_folded": str(number),
        "created_at": number,
        "uploaded_at": number,
        "attached": True,
        "live": True,
    }


def stages(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """The stages of a plan, from the outermost in."""
    inner = [plan["inputStage"]] if "inputStage" in plan else plan.get("inputStages", [])
    return [plan, *(stage for each in inner for stage in stages(each))]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def crowded(storage: Mongo) -> Mongo:
    """Many documents in each collection."""
    for name in {collection for collection, *_ in QUERIES}:
        await storage.collection(name).insert_many(map(crowd, range(300)), bypass_document_validation=True)
    return storage


@pytest.mark.parametrize(("collection", "condition", "sort", "index"), QUERIES)
async def test_a_query_finds_its_index(
    crowded: Mongo, collection: str, condition: dict[str, Any], sort: dict[str, int], index: str
) -> None:
    query: dict[str, Any] = {"find": collection, "filter": {"org_id": ORG, **condition}}
    if sort:
        query["sort"] = sort
    explained = await crowded.database.command({"explain": query, "verbosity": "queryPlanner"})
    plan = stages(explained["queryPlanner"]["winningPlan"])
    assert [stage["indexName"] for stage in plan if stage["stage"] == "IXSCAN"] == [index]
    assert not [stage for stage in plan if stage["stage"] == "SORT"]


async def test_deleted_tests_are_found_by_their_index(crowded: Mongo) -> None:
    """Of all organisations: those whose steps are still there."""
    due = {"live": False, "swept_at": None, "deleted_at": {"$lt": datetime(2026, 1, 1, tzinfo=UTC)}}
    query = {"explain": {"find": "tests", "filter": due, "limit": 100}, "verbosity": "queryPlanner"}
    plan = stages((await crowded.database.command(query))["queryPlanner"]["winningPlan"])
    assert [stage["indexName"] for stage in plan if stage["stage"] == "IXSCAN"] == ["deleted"]
