"""Attempts in processes, and what they use besides, for tests."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import NO_BUILD, AppUnderTest, Seed
from mobiletest_automation.llm.budget import ModelBudget
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.run_config import FallbackTrigger, LlmConfig, RunConfig
from services.chassis.child_process import ChildLimits, ChildProcess, start_child
from services.executor.pools.pool import DEFAULT_POOLS
from services.executor.pools.pooled_devices import PooledDevices
from services.executor.worker.processes.attempt_process import AttemptProcess
from services.executor.worker.processes.attempt_start import LogFormat
from services.executor.worker.processes.host import AttemptHost, Services
from services.executor.worker.processes.messages import ModelOffer, RunAttempt
from services.executor.worker.processes.pool import AttemptProcesses
from services.executor.worker.processes.process_limits import AttemptLimits
from tests.fakes.attempt_processes import LIMITS
from tests.fakes.devices import FakeEvidence

# For tests of what crosses the border between worker and process; the messages are the same in tasks.
IN_BOTH = pytest.mark.parametrize("processes", ["tasks", "processes"], indirect=True)
MODELS = LlmConfig(primary_model="main")
NEVER = RunConfig(fallback_trigger=FallbackTrigger.NEVER)


# A step that computes for ten seconds and more on the crowded app.
BUSY = {"repeat": {"times": 900, "commands": [{"assertNotVisible": "Nothing"}, {"assertNotVisible": "Nobody"}]}}


def app(elements: int, text: str = "Row", **others: str) -> AppUnderTest:
    """A build of an app whose screen has so many elements, each with this text and these other fields."""
    fields = ", ".join(f"{name}: '{value}'" for name, value in {"type": "text", "text": "{shown}", **others}.items())
    shown = ", ".join([f"{{{fields}}}"] * elements)
    model = f"app_model: 1\napp: {{id: a}}\nstate: {{shown: {text}}}\nstart: a\nscreens: {{a: {{elements: [{shown}]}}}}"

    async def read(limit: int) -> bytes:
        return model.encode()[:limit]

    return AppUnderTest(read=read)


CROWDED = app(500)


class Children:
    """Starts processes and remembers them."""

    def __init__(self, main: Callable[..., None] | None = None) -> None:
        self.started: list[ChildProcess] = []
        self._main = main or AttemptProcess(LogFormat("warning", "json"))
        self._limits = ChildLimits(memory_bytes=LIMITS.memory_bytes, niceness=0)

    async def start(self) -> ChildProcess:
        self.started.append(await start_child(self._main, self._limits, message_limit=2**26))
        return self.started[-1]


@asynccontextmanager
async def real_processes(children: Children, limits: AttemptLimits = LIMITS) -> AsyncIterator[AttemptProcesses]:
    async with AttemptProcesses(children.start, limits, idle=2).open() as processes:
        await processes.warmed()
        yield processes


@dataclass
class AttemptWorld:
    """One simulated device, and what attempts use besides."""

    processes: AttemptProcesses
    devices: PooledDevices = field(default_factory=lambda: PooledDevices(DEFAULT_POOLS))
    evidence: FakeEvidence = field(default_factory=FakeEvidence)
    limits: AttemptLimits = LIMITS
    services: dict[str, Any] = field(default_factory=dict)
    host: AttemptHost | None = None

    async def run(self, *steps: object, build: AppUnderTest = NO_BUILD, **fields: Any) -> AttemptResult:
        services = Services(devices=self.devices, evidence=self.evidence, **self.services)
        seed = Seed("run", 1)
        host = self.host = AttemptHost(services, org_id="org", platform="android", build=build, seed=seed)
        request = AttemptRequest(
            **{"run_id": "run", "attempt": 1, "platform": "android", "steps": list(steps), "config": NEVER, **fields}
        )
        order = RunAttempt(
            request=request,
            cpu=self.limits.cpu,
            ports=host.server.available,
            model=ModelOffer(MODELS, ModelBudget()) if services.models is not None else None,
            files=tuple(services.files),
        )
        try:
            return await self.processes.run(order, host)
        finally:
            if (releasing := host.release()) is not None:
                await releasing
