"""Failures of an app with the same fingerprint: what is shown of them, and what people write about them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from mobiletest_cli.api import Api
from mobiletest_cli.errors import USAGE, CliError

if TYPE_CHECKING:
    from mobiletest_cli.api_types import FailureTriage

_FINGERPRINT = re.compile(r"[0-9a-f]{16}", re.ASCII)


def failure_path(app_id: object, fingerprint: str) -> str:
    """The path of a group of failures in the API.

    Raises:
        CliError: the fingerprint is none.
    """
    if not _FINGERPRINT.fullmatch(fingerprint):
        raise CliError(f'"{fingerprint}" is not the fingerprint of a failure', USAGE, "mobiletest failures list")
    return f"apps/{app_id}/failures/{fingerprint}"


def triage_failure(api: Api, app_id: object, fingerprint: str, changes: Mapping[str, str | None]) -> FailureTriage:
    """Write these fields about a group of failures: None leaves one as it is, "" removes it.

    Raises:
        CliError: nothing is to be written, or the server refuses it.
    """
    body = {name: value or None for name, value in changes.items() if value is not None}
    if not body:
        raise CliError(
            "nothing is to be written about the failure", USAGE, "Give a state, a ticket, a note or an owner"
        )
    return cast("FailureTriage", api.patch(failure_path(app_id, fingerprint), body))


def failure_state(failure: Mapping[str, Any]) -> str:
    """ "open", "known", "fixed", "fixed in 2.1", or "reopened" if a later build has the failure again."""
    triage = failure.get("triage")
    if failure.get("reopened"):
        return "reopened"
    if not triage:
        return "open"
    return f"fixed in {triage['fixed_in']}" if triage["fixed_in"] else str(triage["state"])


def triage_words(triage: FailureTriage | None) -> str:
    """ "known, SHOP-1 is being repaired, https://..., owner Ada"; "" if nobody wrote anything."""
    if not triage:
        return ""
    state = "" if triage["state"] == "open" else failure_state({"triage": triage})
    owner = f"owner {triage['owner']}" if triage["owner"] else ""
    note = " ".join((triage["note"] or "").split())
    return ", ".join(filter(None, (state, note, triage["ticket_url"], owner)))
