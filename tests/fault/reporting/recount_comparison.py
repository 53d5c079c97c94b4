"""Compares what is stored with a recount of all events, organisation by organisation, byte for byte."""

from typing import Any

from pymongo import MongoClient

from services.reporting.events import parse_event
from services.reporting.storage.documents import COUNTERS, TABLE_CODECS
from tests.contract.reporting.projections import stored
from tests.fakes.reporting_recount import recount
from tests.fakes.reporting_stored_bytes import contents, differences
from tests.fault.reporting.event_generator import EventGenerator
from tests.fault.reporting.replicas import DATABASE


def compare_with_recount(client: MongoClient[dict[str, Any]], generator: EventGenerator) -> tuple[list[str], int]:
    """Every difference, and how many documents were compared."""
    wrong: list[str] = []
    documents = 0
    for number in range(generator.organisations):
        snapshots = (snapshot for event in generator.events(number) if (snapshot := parse_event(event)))
        expected = contents(recount(snapshots))
        actual = stored(client, DATABASE, {"org_id": f"org-{number}"})
        documents += sum(map(len, expected.values()))
        wrong += differences(actual, expected)
    return wrong + _strangers(client, generator), documents


def _strangers(client: MongoClient[dict[str, Any]], generator: EventGenerator) -> list[str]:
    """Documents of organisations that there are not."""
    known = {f"org-{number}" for number in range(generator.organisations)}
    names = [*(kind.collection for kind in TABLE_CODECS), COUNTERS]
    strangers_by_name = {name: set(client[DATABASE][name].distinct("org_id")) - known for name in names}
    return [f"{name}: documents of {strangers}" for name, strangers in strangers_by_name.items() if strangers]
