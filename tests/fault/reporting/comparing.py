"""Compares what is stored with a recount of everything that was told, organisation by organisation, byte for byte."""

from typing import Any

from pymongo import MongoClient

from services.reporting.events import told_by
from services.reporting.model.recount import recount
from services.reporting.storage.documents import COUNTERS, KINDS
from tests.contract.reporting.stored import stored
from tests.fakes.reporting_bytes import contents, differences
from tests.fault.reporting.estates import Estate
from tests.fault.reporting.replicas import DATABASE


def compared(client: MongoClient[dict[str, Any]], estate: Estate) -> tuple[list[str], int]:
    """Every difference, and how many documents were compared."""
    wrong: list[str] = []
    documents = 0
    for number in range(estate.organisations):
        told = (snapshot for event in estate.told(number) if (snapshot := told_by(event)))
        expected = contents(recount(told))
        found = stored(client, DATABASE, {"org_id": f"org-{number}"})
        documents += sum(map(len, expected.values()))
        wrong += differences(found, expected)
    return wrong + _strangers(client, estate), documents


def _strangers(client: MongoClient[dict[str, Any]], estate: Estate) -> list[str]:
    """Documents of organisations that there are not."""
    known = {f"org-{number}" for number in range(estate.organisations)}
    names = [*(kind.collection for kind in KINDS), COUNTERS]
    found = {name: set(client[DATABASE][name].distinct("org_id")) - known for name in names}
    return [f"{name}: documents of {strangers}" for name, strangers in found.items() if strangers]
