"""Accepts, shows and deletes the baselines of tests."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from mobiletest.types.v1.byte_range_pb2 import ByteRange

from mobiletest_automation.model.baseline_keys import is_baseline_key, key_of_artifact
from services.chassis.byte_ranges import FilePart, find_part
from services.chassis.context import current
from services.chassis.errors import InvalidArgument, NotFound
from services.executor.model.baselines import BASELINE_BYTES, Baseline
from services.executor.ports.baselines import Baselines, ExistingTests, TestKey
from services.executor.ports.organisation_limits import OrganisationLimitsSource
from services.executor.usecases.executions import ExecutionControl


@dataclass(frozen=True, slots=True)
class BaselineDownload:
    """The part of a picture that was asked for, in chunks; `etag` without quotes."""

    etag: str
    part: FilePart
    chunks: AsyncIterator[bytes]


class BaselineUseCases:
    """The baselines of the caller's organisation."""

    def __init__(
        self, control: ExecutionControl, baselines: Baselines, limits: OrganisationLimitsSource, tests: ExistingTests
    ) -> None:
        self._control = control
        self._baselines = baselines
        self._limits = limits
        self._tests = tests

    async def accept(self, execution_id: str, run_id: str, artifact_name: str) -> Baseline:
        """From now on the run's test compares its screens with this picture, which an assertScreenshot has kept.

        Raises:
            NotFound: it does not exist.
            InvalidArgument: it is another artifact.
            ResourceExhausted: the test has too many baselines.
            PermissionDenied: those of the organisation have too many bytes.
        """
        artifact_download = await self._control.artifact(execution_id, run_id, artifact_name)
        key = key_of_artifact(artifact_name)
        if key is None or artifact_download.artifact.size_bytes > BASELINE_BYTES:
            message = (
                "Not a picture of assertScreenshot: its name ends with -actual.png, "
                f"and it has at most {BASELINE_BYTES // 1024**2} MiB"
            )
            raise InvalidArgument(message, reason="NOT_A_BASELINE", metadata={"artifact": artifact_name})
        _, run = await self._control.run(execution_id, run_id)
        picture = b"".join([chunk async for chunk in artifact_download.chunks])
        most_bytes = (await self._limits.get(run.org_id)).baseline_bytes
        return await self._baselines.save(TestKey(run.org_id, run.target.test_id), key, picture, most_bytes)

    async def of_test(self, test_id: str) -> Sequence[Baseline]:
        """The test's baselines by key.

        Raises:
            NotFound: there is no such test.
            Unavailable: the catalog cannot be asked.
        """
        test = _own(test_id)
        baselines = await self._baselines.of_test(test)
        if not baselines and not await self._tests.existing_tests(test.org_id, [test_id]):
            raise NotFound("Test not found")
        return baselines

    async def download(self, test_id: str, key: str, asked: ByteRange | None = None) -> BaselineDownload:
        """The picture, or a part of it.

        Raises:
            NotFound: it does not exist.
            InvalidArgument: as in `find_part`.
        """
        baseline = await self._baselines.find(_own(test_id), key) if is_baseline_key(key) else None
        if baseline is None:
            raise _not_found()
        part = find_part(asked, size=baseline.size_bytes, etag=baseline.sha256)
        return BaselineDownload(baseline.sha256, part, self._baselines.read(baseline, part))

    async def delete(self, test_id: str, key: str) -> None:
        """Delete the baseline.

        Raises:
            NotFound: it does not exist.
        """
        if not is_baseline_key(key) or not await self._baselines.delete(_own(test_id), key):
            raise _not_found()


def _own(test_id: str) -> TestKey:
    return TestKey(current().org_id, test_id)


def _not_found() -> NotFound:
    return NotFound("Baseline not found", reason="BASELINE_NOT_FOUND")
