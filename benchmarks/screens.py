"""What it costs to keep the screen of each step: bytes a run, and time a step, with and without, in turns.

`python -m benchmarks.screens [ROUNDS]` runs a test of 20 steps on the web shop in Chromium and on the simulated device.
The runs with screens share one store, as repeated runs of an organisation do.
"""

import asyncio
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import cast

from benchmarks.goals import Goal, show
from deploy.devices import hubs
from deploy.devices.hubs import chromium_capabilities
from mobiletest_automation.attempt import AttemptRunner
from mobiletest_automation.attempt_request import AttemptRequest
from mobiletest_automation.devices.port import AppUnderTest, Device, DeviceInfo, Devices, OnSession, Seed
from mobiletest_automation.devices.simulated.device import SimulatedDevice
from mobiletest_automation.devices.webdriver.hub_connection import Json
from mobiletest_automation.devices.webdriver.hub_target import HubTarget
from mobiletest_automation.devices.webdriver.sessions import open_device
from mobiletest_automation.model.run_config import FallbackTrigger, RunConfig
from mobiletest_automation.ports import ScreenStore
from mobiletest_automation.web_addresses import AddressPolicy
from tests.hubs import WEB_SHOP, serve_folder

ROUNDS = 10
BYTES_A_RUN = 150 * 1024
ADDED_SHARE = 5.0
LOG_IN = ('Type "ada@example.com" into "Email"', 'Type "lovelace" into "Password"', 'Tap "Log in"', 'I see "Blue mug"')
SIMULATED_STEPS = (
    *LOG_IN,
    'Tap "Blue mug"',
    'I see "Add to cart"',
    "Go back",
    'I see "Red mug"',
    'Tap "Red mug"',
    'Tap "Add to cart"',
    'See "Added to cart"',
    "Go back",
    'Tap "Blue mug"',
    'Tap "Add to cart"',
    'Tap "Go to cart"',
    'Tap "Checkout"',
    '"Place order" button should be disabled',
    'Type "12 St James\'s Square, London" into "Address"',
    'Tap "Place order"',
    'I see a text containing "Order placed, Ada"',
)
WEB_STEPS = (
    *LOG_IN,
    'Tap "Red mug"',
    'I see "Add to cart"',
    "Go back",
    'Tap "Blue mug"',
    'Tap "Size"',
    'Tap "Large"',
    'Tap "Add to cart"',
    'Wait until "Cart (1)" is visible',
    'Tap "Cart (1)"',
    'I see "Total €7.75"',
    'Tap "Checkout"',
    'Type "Ada Lovelace" into "Full name"',
    'Check "I accept the terms"',
    'Tap "Place order"',
    'Tap "Yes, order"',
    'I see "Thank you"',
)


@dataclass
class CountingStore:
    """The port `ScreenStore` in memory."""

    sizes: dict[str, int] = field(default_factory=dict)
    pictures: dict[str, str] = field(default_factory=dict)

    async def picture_of(self, state: str) -> str:
        return self.pictures.get(state, "")

    async def has(self, hash: str, state: str = "") -> bool:
        if hash in self.sizes:
            self.pictures[state] = hash
        return hash in self.sizes

    async def keep(self, hash: str, content: bytes, content_type: str, state: str = "") -> str:
        self.sizes[hash] = len(content)
        self.pictures[state] = hash
        return ""


class Browsers:
    """The port `Devices`: a browser for each attempt."""

    def __init__(self, hub: str) -> None:
        capabilities = cast("dict[str, Json]", chromium_capabilities())
        self._target = HubTarget(url=hub, capabilities=capabilities, addresses=AddressPolicy.parse(["127.0.0.1"]))

    async def acquire(
        self, platform: str, build: AppUnderTest, seed: Seed, *, on_session: OnSession | None = None
    ) -> Device:
        info = DeviceInfo("chromium", "android", simulated=False, browser=True)
        return await open_device(self._target, info, build)

    async def release(self, device: Device) -> None:
        await device.close()


class Simulated:
    """The port `Devices`: simulated devices."""

    async def acquire(
        self, platform: str, build: AppUnderTest, seed: Seed, *, on_session: OnSession | None = None
    ) -> Device:
        return SimulatedDevice(DeviceInfo("simulated", platform, simulated=True), build, seed)

    async def release(self, device: Device) -> None:
        await device.close()


async def run_attempt(
    devices: Devices, build: AppUnderTest, steps: Sequence[str], screens: ScreenStore | None
) -> float:
    """The seconds of its steps together."""
    request = AttemptRequest(
        run_id="run",
        attempt=1,
        platform="android",
        build=build,
        steps=list(steps),
        config=RunConfig(fallback_trigger=FallbackTrigger.NEVER),
    )
    result = await AttemptRunner(devices).run(request, screens=screens)
    if result.failure is not None:
        raise AssertionError(result.failure)
    first, last = result.steps[0], result.steps[-1]
    return (last.started_at - first.started_at).total_seconds() + last.duration_seconds


async def measure(
    name: str, devices: Devices, build: AppUnderTest, steps: Sequence[str], rounds: int
) -> tuple[list[int], float, float]:
    """The bytes that each run adds, and the milliseconds of a step without and with screens, but for the first run."""
    store = CountingStore()
    seconds: dict[bool, list[float]] = {False: [], True: []}
    sizes = [0]
    for number in range(rounds):
        for kept in (False, True) if number % 2 else (True, False):
            seconds[kept].append(await run_attempt(devices, build, steps, store if kept else None))
            if kept:
                sizes.append(sum(store.sizes.values()))
    added = [after - before for before, after in pairwise(sizes)]
    first = 1000 * seconds[True][0] / len(steps)
    without, with_screens = (1000 * statistics.median(seconds[kept][1:]) / len(steps) for kept in (False, True))
    figures = f"{without:.1f} ms a step without screens, {with_screens:.1f} ms with them ({first:.1f} ms at first)"
    print(f"{name}: {figures}", flush=True)
    return added, without, with_screens


def bytes_goal(name: str, added: Sequence[int]) -> Goal:
    first, *later = (size / 1024 for size in added)
    figures = f"first run {first:.0f} KiB, later ones {statistics.mean(later):.1f} KiB"
    return Goal(f"{name}: KiB a run", statistics.mean(added) / 1024, BYTES_A_RUN / 1024, "KiB", True, figures)


def main(rounds: int) -> None:
    model = (WEB_SHOP.parent / "shop-android/1.0.0.yaml").read_bytes()

    async def read(limit: int) -> bytes:
        return model[:limit]

    simulated = measure("simulated device", Simulated(), AppUnderTest(read=read), SIMULATED_STEPS, rounds)
    goals = [bytes_goal("simulated device", asyncio.run(simulated)[0])]
    with hubs.chromedriver() as hub, serve_folder(WEB_SHOP) as url:
        build = AppUnderTest(static_url=f"{url}/index.html")
        added, without, with_screens = asyncio.run(measure("Chromium", Browsers(hub.url), build, WEB_STEPS, rounds))
    goals.append(bytes_goal("Chromium", added))
    grown = 100 * (with_screens - without) / without
    figures = f"{without:.1f} ms without screens, {with_screens:.1f} ms with them"
    show("Kept screens", [*goals, Goal("Chromium: added time a step", grown, ADDED_SHARE, "%", True, figures)])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS)
