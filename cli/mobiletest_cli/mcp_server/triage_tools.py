"""Tools about failures of the same kind, and for what people should know of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from mobiletest_cli import lookup
from mobiletest_cli.api import Api
from mobiletest_cli.failure_groups import triage_failure
from mobiletest_cli.mcp_server import summaries
from mobiletest_cli.mcp_server.read_tools import Answer, AppName, ExecutionId, Limit, list_answer
from mobiletest_cli.run_comments import add_comment

Optional = Annotated[str | None, Field(description="Absent: stays as it is; empty: removed")]


class TriageTools:
    """`list_failures` changes nothing; the others write what people read beside results, and no result."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def list_failures(
        self,
        app: Annotated[str | None, Field(description="Only of this app, by name or id")] = None,
        search: Annotated[str | None, Field(description="A part of the message")] = None,
        state: Literal["open", "known", "fixed"] | None = None,
        limit: Limit = 20,
    ) -> Answer:
        """List failures of the same kind, seen last first: since when, how often, and what is known of them."""
        app_id = lookup.find_app(self._api, app)["id"] if app else None
        failures = self._api.pages("failures", limit=limit + 1, app_id=app_id, search=search, state=state)
        return list_answer("failures", map(summaries.failure_summary, failures), limit)

    def mark_failure(
        self,
        app: AppName,
        fingerprint: Annotated[str, Field(description="As list_failures and get_gate show it")],
        state: Literal["open", "known", "fixed"] | None = None,
        ticket_url: Optional = None,
        note: Optional = None,
        owner: Optional = None,
        fixed_in: Annotated[str | None, Field(description="Version of the first build without it")] = None,
    ) -> Answer:
        """Write about failures of the same kind: known or fixed, ticket, note, owner. Gates and reports say it."""
        changes = {"state": state, "ticket_url": ticket_url, "note": note, "owner": owner, "fixed_in": fixed_in}
        app_id = lookup.find_app(self._api, app)["id"]
        return {**triage_failure(self._api, app_id, fingerprint, changes)}

    def comment_run(
        self,
        execution: ExecutionId,
        test: Annotated[str, Field(description="Name, path or id of a test of the execution, or id of the run")],
        text: Annotated[str, Field(min_length=1, max_length=2000)],
    ) -> Answer:
        """Write a comment about a run, which people see on its page."""
        runs = lookup.selected_runs(list(self._api.pages(f"executions/{execution}/runs")), test)
        return {**add_comment(self._api, runs, text)}
