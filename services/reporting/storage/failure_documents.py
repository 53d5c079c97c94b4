"""Failures and their groups as documents, and what people wrote about them."""

from services.chassis.text_search import fold_case
from services.reporting.model.app_failures import AppFailure, FailureSighting
from services.reporting.model.attempts import BuildRef
from services.reporting.model.tables import FailureKey, Group, GroupKey
from services.reporting.model.triages import FailureState, TriageSnapshot
from services.reporting.storage.subdocuments import (
    Document,
    decode_fields,
    decode_optional,
    encode_fields,
    encode_optional,
)


def encode_group(key: GroupKey, group: Group) -> Document:
    """With the app, by which the groups of a failure are found."""
    return encode_fields(group) | {"app_id": key[0]}


def decode_group(document: Document) -> tuple[GroupKey, Group]:
    app_id, subject, build_id, fingerprint = document["_id"].split(":")
    return (app_id, subject, build_id, fingerprint), decode_group_fields(document)


def decode_group_fields(document: Document) -> Group:
    position = document.get("position")
    return decode_fields(Group, document, position=tuple(position) if position else None)


def encode_failure(key: FailureKey, failure: AppFailure) -> Document:
    """With what lists are sorted by, and the texts in which they are searched."""
    app_id, fingerprint = key
    return encode_fields(failure) | {
        "app_id": app_id,
        "fingerprint": fingerprint,
        "first": encode_fields(failure.first),
        "last": encode_fields(failure.last),
        "newest_build": encode_optional(failure.newest_build),
        "last_seen_at": failure.last.at,
        "text_folded": fold_case(f"{failure.sample_message}\n{failure.reason}"),
    }


def decode_failure(document: Document) -> tuple[FailureKey, AppFailure]:
    position = document["position"]
    return (document["app_id"], document["fingerprint"]), decode_fields(
        AppFailure,
        document,
        first=decode_fields(FailureSighting, document["first"]),
        last=decode_fields(FailureSighting, document["last"]),
        newest_build=decode_optional(BuildRef, document["newest_build"]),
        days=tuple((day, count) for day, count in document["days"]),
        position=tuple(position) if position else None,
    )


def encode_triage(_: FailureKey, triage: TriageSnapshot) -> Document:
    return encode_fields(triage)


def decode_triage(document: Document) -> tuple[FailureKey, TriageSnapshot]:
    triage = decode_fields(TriageSnapshot, document, state=FailureState(document["state"]))
    return (triage.app_id, triage.fingerprint), triage
