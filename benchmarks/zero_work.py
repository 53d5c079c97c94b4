"""A worker process whose attempts do nothing, so that what is left is the engine itself."""

from collections.abc import Sequence

from mobiletest_automation.model.devices import Platform
from mobiletest_automation.model.results import AttemptResult
from services.chassis import lifecycle
from services.executor import app
from services.executor.ports.runs import Claim, Progress
from services.executor.settings import Settings


class ZeroWork:
    """The port `Attempts`: every test passes at once."""

    platforms: Sequence[Platform] = (Platform.ANDROID,)

    def accepts(self, platform: Platform, org_id: str) -> bool:
        return True

    def places(self, platform: Platform) -> int:
        return 1000

    async def reserve(self, platform: Platform, runs: int) -> int:
        return min(runs, 1000)

    def settle(self, platform: Platform, runs: int) -> None: ...

    async def run(self, claim: Claim, progress: Progress) -> AttemptResult:
        return AttemptResult(device="none", simulated=True)


if __name__ == "__main__":
    lifecycle.main(lambda settings: app.start_app(settings, attempts=ZeroWork()), Settings)
