"""What an attempt keeps, on its way into the object store."""

from services.chassis import logs
from services.executor import telemetry
from services.executor.ports import Artifacts, Claim

log = logs.get(__name__)


class ClaimEvidence:
    """Where one attempt's evidence goes."""

    def __init__(self, artifacts: Artifacts, claim: Claim) -> None:
        self._artifacts = artifacts
        self._claim = claim

    async def keep(self, name: str, content: bytes, content_type: str) -> None:
        """Store it; a store that fails costs the artifact, never the verdict."""
        run_id, attempt = self._claim.run.id, self._claim.attempt
        try:
            await self._artifacts.put(run_id, attempt, name, content)
        except Exception as error:
            telemetry.artifact_failures.inc()
            log.warning("artifact_not_kept", run_id=run_id, attempt=attempt, name=name, error=repr(error))
            raise
