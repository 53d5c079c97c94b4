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

    async def clear_all(self, app_id: str) -> Sequence[FailureTriage]:
        """Without reading the texts: there may be 5,000 of 4 KB."""
        of_app = {**IS_LIVE, "app_id": app_id}
        written = await find(self._rows, of_app, projection={"org_id": 1, "fingerprint": 1, "revision": 1})
        cleared = [
            FailureTriage(row["org_id"], app_id, row["fingerprint"], revision=row["revision"] + 1) for row in written
        ]
        if cleared:
            nothing = _to_document(cleared[0])
            values = {name: value for name, value in nothing.items() if name not in ("_id", "fingerprint", "revision")}
            await self._rows.update_many(of_app, {"$set": values, "$inc": {"revision": 1}})
        return cleared

    async def count(self) -> int:
        return await self._rows.count_documents(IS_LIVE)

    async def put(self, triage: FailureTriage) -> None:
        await self._rows.put(_to_document(triage))


def _id(app_id: str, fingerprint: str) -> str:
    return f"{app_id}/{fingerprint}"


def _to_document(triage: FailureTriage) -> Document:
    return dump(triage, _id=_id(triage.app_id, triage.fingerprint), live=not triage.empty)


def from_document(document: Document) -> FailureTriage:
    """The triage of a stored document."""
    return load(FailureTriage, document, state=FailureState(document["state"]))
