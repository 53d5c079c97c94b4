"""What people write about groups of failures, as documents; those of which nothing is left keep their revision."""

from collections.abc import Sequence

from services.catalog.model.failures import FailureState, FailureTriage
from services.catalog.storage.documents import IS_LIVE, dump, find, load
from services.chassis.mongo import Document
from services.chassis.org_collection import OrgCollection

FAILURE_TRIAGES = "failure_triages"


class MongoFailureTriages:
    """See ports.FailureTriages."""

    def __init__(self, rows: OrgCollection) -> None:
        self._rows = rows

    async def get(self, app_id: str, fingerprint: str) -> FailureTriage | None:
        document = await self._rows.find_one({"_id": _id(app_id, fingerprint)})
        return from_document(document) if document else None

    async def of_app(self, app_id: str) -> Sequence[FailureTriage]:
        return [from_document(document) for document in await find(self._rows, {**IS_LIVE, "app_id": app_id})]

    async def count(self) -> int:
        return await self._rows.count_documents(IS_LIVE)

    async def put(self, triages: Sequence[FailureTriage]) -> None:
        for triage in triages:
            await self._rows.put(_to_document(triage))


def _id(app_id: str, fingerprint: str) -> str:
    return f"{app_id}/{fingerprint}"


def _to_document(triage: FailureTriage) -> Document:
    return dump(triage, _id=_id(triage.app_id, triage.fingerprint), live=not triage.empty)


def from_document(document: Document) -> FailureTriage:
    """The triage of a stored document."""
    return load(FailureTriage, document, state=FailureState(document["state"]))
