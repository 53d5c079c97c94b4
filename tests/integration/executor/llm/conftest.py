"""Models at a scripted endpoint, and attempts on the simulated device that ask them."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from pydantic import SecretStr

from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import AppUnderTest
from mobiletest_automation.llm.budget import ModelBudget
from mobiletest_automation.llm.chat_client import ChatClient, ModelEndpoint
from mobiletest_automation.llm.language_models import LanguageModels
from mobiletest_automation.model.results import AttemptResult
from mobiletest_automation.model.run_config import LlmConfig, RunConfig
from mobiletest_automation.ports import StepCache
from services.executor.pools.pool import DEFAULT_POOLS
from services.executor.pools.pooled_devices import PooledDevices
from tests.fakes.devices import FakeEvidence
from tests.fakes.llm import FakeEndpoint

KEY = "sk-very-secret-key"


class World:
    """An endpoint, models there, and attempts with them. `paused` is how long the client waited between tries."""

    def __init__(self, endpoint: FakeEndpoint, stack: AsyncExitStack) -> None:
        self.endpoint = endpoint
        self.stack = stack
        self.paused: list[float] = []
        self.evidence = FakeEvidence()
        self.timeout = 5.0

    async def client(self, **fields: Any) -> ChatClient:
        session = await self.stack.enter_async_context(aiohttp.ClientSession())
        said = {"base_url": self.endpoint.url, "key": SecretStr(KEY), "models": LlmConfig(primary_model="main")}
        endpoint = replace(ModelEndpoint(timeout_seconds=self.timeout, **said), **fields)  # type: ignore[arg-type]
        return ChatClient(endpoint, session, pause=self._pause)

    async def _pause(self, seconds: float) -> None:
        self.paused.append(seconds)

    async def run(
        self,
        *steps: object,
        config: RunConfig | None = None,
        budget: ModelBudget | None = None,
        cache: StepCache | None = None,
        app: str | None = None,
        prompt: str | None = None,
        run_seconds: float = 60.0,
        **endpoint: Any,
    ) -> AttemptResult:
        """An attempt at these steps; `app` is an app model, the built-in app by default."""
        models = LanguageModels(await self.client(**endpoint), budget or ModelBudget())
        automation = AttemptRunner(PooledDevices(DEFAULT_POOLS), model=models, cache=cache)
        content = (app or "").encode()

        async def read(limit: int) -> bytes:
            return content[:limit]

        plan = AttemptRequest(
            run_id="run",
            attempt=1,
            platform="android",
            steps=list(steps),
            build=AppUnderTest(app_name="Demo", read=read if app else None),
            config=config or RunConfig(),
            app_prompt=prompt,
            step_seconds=5,
            run_seconds=run_seconds,
        )
        return await automation.run(plan, evidence=self.evidence)


@pytest.fixture
async def world() -> AsyncIterator[World]:
    async with AsyncExitStack() as stack, FakeEndpoint().serving() as endpoint:
        yield World(endpoint, stack)
