"""Time of POST /api/v1/tests/resolve on a screen of 500 elements: `python -m benchmarks.resolving`.

The rules are compared with parsing the same XML by the standard library alone, the request with a page of an empty list
(GET /api/v1/apps/) through the same gateway, both in the same run.
"""

import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import aiohttp
import uvloop

from benchmarks import limits
from benchmarks.goals import Goal
from deploy.local import stack
from mobiletest_automation.screen.page_source.reader import read_source
from mobiletest_automation.sentences.grounder import ground_sentence

ROWS = 99
SENTENCE = 'Tap the "Add to cart" button in the row of "Product 70"'
REPEATS = 200
P50_MS, P99_MS = 5.0, 15.0
_COMMON = (
    'package="com.example.shop" checkable="false" checked="false" clickable="false" enabled="true" focusable="false"'
    ' focused="false" long-clickable="false" password="false" scrollable="false" selected="false" displayed="true"'
)


@dataclass(frozen=True, slots=True)
class Spread:
    """Milliseconds."""

    p50: float
    p99: float

    @classmethod
    def of(cls, seconds: list[float]) -> "Spread":
        cuts = statistics.quantiles(seconds, n=100)
        return cls(statistics.median(seconds) * 1000, cuts[98] * 1000)


def screen() -> str:
    """A list of products in a hierarchy of UiAutomator2: 5 elements a row, with the attributes of Appium."""
    rows = "".join(_row(number) for number in range(ROWS))
    window = f'<android.widget.FrameLayout class="android.widget.FrameLayout" bounds="[0,0][1080,90000]" {_COMMON}>'
    held = f'<androidx.recyclerview.widget.RecyclerView bounds="[0,0][1080,90000]" {_COMMON}>{rows}'
    ends = "</androidx.recyclerview.widget.RecyclerView></android.widget.FrameLayout></hierarchy>"
    return f'<?xml version="1.0"?><hierarchy width="1080" height="90000">{window}{held}{ends}'


def _row(number: int) -> str:
    top = number * 200
    parts = [
        ("TextView", f"Product {number}", f"[0,{top}][600,{top + 90}]"),
        ("TextView", f"${number}.50", f"[0,{top + 90}][600,{top + 190}]"),
        ("Button", "Add to cart", f"[700,{top}][1040,{top + 90}]"),
        ("ImageView", "", f"[600,{top}][700,{top + 90}]"),
    ]
    inside = "".join(
        f'<android.widget.{kind} class="android.widget.{kind}" text="{text}" resource-id="com.example.shop:id/{kind}"'
        f' content-desc="" bounds="{bounds}" {_COMMON}/>'
        for kind, text, bounds in parts
    )
    name = "android.view.ViewGroup"
    return f'<{name} class="{name}" bounds="[0,{top}][1080,{top + 190}]" {_COMMON}>{inside}</{name}>'


def timed(work: Callable[[], object]) -> Spread:
    seconds = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    return Spread.of(seconds)


async def requested(send: Callable[[], Awaitable[None]]) -> Spread:
    seconds = []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        await send()
        seconds.append(time.perf_counter() - begun)
    return Spread.of(seconds)


async def through_rest(source: str) -> tuple[Spread, Spread]:
    """Of resolving, and of an empty list."""
    with tempfile.TemporaryDirectory() as folder:
        async with stack.run_stack(Path(folder), extra_env=limits.ENVIRONMENT) as running:
            headers = {"Authorization": f"Bearer {running.api_key}"}
            async with aiohttp.ClientSession(running.url, headers=headers) as session:
                return await _compared(session, source)


async def _compared(session: aiohttp.ClientSession, source: str) -> tuple[Spread, Spread]:
    numbers = itertools.count()

    async def resolve() -> None:
        """On a screen unlike all before: a screen that a child process has just read is not read again."""
        body = {"step": SENTENCE, "source": source.replace("Product 0", f"Offer {next(numbers)}")}
        async with session.post("/api/v1/tests/resolve", json=body) as answer:
            resolved = await answer.json()
            assert resolved["action"] == "tap", resolved

    async def page() -> None:
        async with session.get("/api/v1/apps/", params={"search": "none such"}) as answer:
            await answer.read()

    await asyncio.gather(resolve(), page())
    return await requested(resolve), await requested(page)


async def goals() -> list[Goal]:
    """Of the goal "resolving a sentence on 500 elements", end to end through REST."""
    resolved, listed = await through_rest(screen())
    figures = f"an empty list in the same run {listed.p50:.1f} / {listed.p99:.1f} ms"
    return [
        Goal("resolve a sentence on 500 elements, p50", resolved.p50, P50_MS, "ms", at_most=True, figures=figures),
        Goal("resolve a sentence on 500 elements, p99", resolved.p99, P99_MS, "ms", at_most=True, figures=figures),
    ]


async def main() -> None:
    source = screen()
    tree = read_source(source)
    parsed = timed(lambda: ElementTree.fromstring(source))  # noqa: S314 (our own)
    rows = [
        ("parse the XML alone (baseline)", parsed),
        ("read it into elements", timed(lambda: read_source(source))),
        ("ground the sentence on them", timed(lambda: ground_sentence(SENTENCE, tree))),
        ("both", timed(lambda: ground_sentence(SENTENCE, read_source(source)))),
    ]
    print(f"{ROWS * 5 + 3} elements, {len(source) // 1024} KiB, {REPEATS} times each\n")
    print("| what | p50 ms | p99 ms | ratio |\n| --- | --- | --- | --- |")
    for name, spread in rows:
        print(f"| {name} | {spread.p50:.2f} | {spread.p99:.2f} | {spread.p50 / parsed.p50:.1f} |")
    resolved, listed = await through_rest(source)
    print(f"| an empty list through REST (baseline) | {listed.p50:.2f} | {listed.p99:.2f} | 1.0 |")
    print(f"| resolve through REST | {resolved.p50:.2f} | {resolved.p99:.2f} | {resolved.p50 / listed.p50:.1f} |")


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
