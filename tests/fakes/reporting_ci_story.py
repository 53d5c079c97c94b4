"""Stories as CI tells them: executions on builds of branches, for the tests of comparison and gate."""

from dataclasses import replace
from datetime import datetime, timedelta

from mobiletest.reporting.v1 import reports_pb2

from services.reporting.model.attempts import BuildRef
from services.reporting.model.batch import Snapshot
from services.reporting.model.cells import failure_group
from services.reporting.model.snapshots import Quarantine, RunSnapshot, Simulation, Status, TestSnapshot
from services.reporting.model.variants import EMPTY_VARIANT, Variant
from tests.fakes.reporting_story import APP, NOW, ORG, Story


class CiStory(Story):
    """A story whose runs name the branch and the commit of the execution that is being told."""

    _ci: tuple[str | None, str | None] = (None, None)
    _executions = 0
    # What simulated devices run instead of the app.
    simulation: Simulation | None = None
    bindings_changed: bool = False
    repository: str | None = None
    pr_number: int | None = None

    def tell(self, *snapshots: Snapshot) -> None:
        super().tell(*(self._named(told) if isinstance(told, RunSnapshot) else told for told in snapshots))

    def ci(
        self,
        build: BuildRef | None,
        branch: str | None = None,
        commit: str | None = None,
        *,
        total: int | None = None,
        app: str | None = APP,
        variant: Variant = EMPTY_VARIANT,
        **endings: str,
    ) -> str:
        """An execution of these tests on a build, by test; gives its id. `total`: when some have not been heard of."""
        self._executions += 1
        execution, self._ci = f"ci-{self._executions:04}", (branch, commit)
        for test, ending in endings.items():
            self.run(test, build, ending, execution=execution, app=app, at=self._later(), variant=variant)
        self.execution(execution, len(endings) if total is None else total)
        return execution

    def main(self, version: str, **endings: str) -> BuildRef:
        """A build of the branch main, and an execution on it; its commit is called as the build."""
        return self.on("main", version, **endings)

    def on(self, branch: str | None, version: str, **endings: str) -> BuildRef:
        """A build of a branch, and an execution on it; its commit is called as the build."""
        build = self.build(version)
        if endings:
            self.ci(
                build,
                branch,
                f"c{version}" if branch else None,
                total=len(endings),
                app=APP,
                variant=EMPTY_VARIANT,
                **endings,
            )
        return build

    def history(self, text: str) -> tuple[BuildRef, str]:
        """Executions of the test "pay" on the builds 1, 2, ...: "main failed, - passed + other infra, feature here".

        Each is a branch ("-": none) and how "pay" ended, with "+" between those on one build; a "new" build has none.
        Gives the build and the execution that is "here", where "pay" fails.
        """
        here = BuildRef(NOW, "", ""), ""
        for version, on_build in enumerate(text.split(", "), start=1):
            build = self.build(str(version))
            for told in on_build.split(" + ") if on_build != "new" else ():
                branch, ending = told.split()
                own = (None, None) if branch == "-" else (branch, f"c{version}")
                execution = self.ci(build, *own, pay="failed" if ending == "here" else ending)
                here = (build, execution) if ending == "here" else here
        return here

    def quarantine(self, test: str, until: datetime) -> None:
        """The test is put into quarantine."""
        quarantine = Quarantine("Waits for the fix", until, "ci key", NOW - timedelta(days=1))
        self.tell(TestSnapshot(test, ORG, self.revision(), False, f"Name of {test}", quarantine=quarantine))

    def _later(self) -> datetime:
        return NOW - timedelta(days=1) + timedelta(seconds=self.revision())

    def _named(self, run: RunSnapshot) -> RunSnapshot:
        branch, commit = self._ci
        item = reports_pb2.BuildRunItem(test_name=run.test_name, success=bool(run.success), run_id=run.run_id)
        said = {"branch": branch, "commit_sha": commit}
        item.metadata.update({name: value for name, value in said.items() if value is not None})
        if self.simulation:
            built_in = self.simulation is Simulation.BUILT_IN_MODEL
            item.metadata.update({"simulated": True, "built_in_model": built_in})
        if self.bindings_changed:
            item.report_metadata.update({"bindings_changed": [{"step_index": 0, "message": "it bound another one"}]})
        if run.failure:
            item.report_metadata.update({"category": run.failure.category, "top_failure": run.failure.message})
        if group := failure_group(run):
            item.failure_fingerprint = group.fingerprint
        if run.build:
            item.resolved_build_version = run.build.version
        if run.completed_at and run.status is not Status.QUEUED:
            item.completed_at.FromDatetime(run.completed_at)
        listed = item.SerializeToString()
        return replace(
            run,
            branch=branch,
            commit_sha=commit,
            list_item=listed,
            simulation=self.simulation,
            bindings_changed=self.bindings_changed,
            repository=self.repository,
            pr_number=self.pr_number,
        )
