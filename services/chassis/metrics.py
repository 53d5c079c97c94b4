"""The metrics of this process: one registry, served on the admin port. Declaring a metric twice gives the same one."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

REGISTRY = CollectorRegistry()
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LATENCY_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)

LEADER_SECONDS = 30.0

_declared: dict[str, MetricWrapperBase] = {}
M = TypeVar("M", bound=MetricWrapperBase)


def counter(name: str, help_text: str, labels: Sequence[str] = ()) -> Counter:
    """A counter; `name` with its `_total`."""
    return _declare(name, lambda: Counter(name, help_text, labels, registry=REGISTRY))


def gauge(name: str, help_text: str, labels: Sequence[str] = ()) -> Gauge:
    """A gauge; `.set_function` makes it read a value at each scrape."""
    return _declare(name, lambda: Gauge(name, help_text, labels, registry=REGISTRY))


def histogram(
    name: str, help_text: str, labels: Sequence[str] = (), buckets: Sequence[float] = LATENCY_BUCKETS
) -> Histogram:
    """A histogram, in seconds unless its name says otherwise."""
    return _declare(name, lambda: Histogram(name, help_text, labels, registry=REGISTRY, buckets=buckets))


def register(counters: Iterable[Counter]) -> None:
    """Add counters that were declared elsewhere, once."""
    for each in counters:
        name = next(iter(each.describe())).name + "_total"
        if name not in _declared:
            _declared[name] = each
            REGISTRY.register(each)


class LeaderGauge(Collector):
    """A figure of the whole system, which one process at a time measures. It is absent in the others, and in a process
    that has not set it for LEADER_SECONDS.
    """

    def __init__(self, name: str, help_text: str, *, clock: Callable[[], float] = monotonic) -> None:
        """One per name."""
        self._name = name
        self._help = help_text
        self._clock = clock
        self._value: tuple[float, float] | None = None
        REGISTRY.register(self)

    def set(self, value: float) -> None:
        """This process is the leader and has measured this."""
        self._value = (value, self._clock() + LEADER_SECONDS)

    def clear(self) -> None:
        """Another process is the leader."""
        self._value = None

    def describe(self) -> list[GaugeMetricFamily]:
        """The metric without a value, for the registry."""
        return [GaugeMetricFamily(self._name, self._help)]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The metric, if it is known here now."""
        if self._value is not None and self._clock() < self._value[1]:
            yield GaugeMetricFamily(self._name, self._help, value=self._value[0])


def _declare(name: str, make: Callable[[], M]) -> M:
    if name not in _declared:
        _declared[name] = make()
    return _declared[name]  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Count:
    """By how much a counter has grown."""

    name: str
    labels: Mapping[str, str]
    amount: float


_taken: dict[tuple[str, tuple[str, ...]], float] = {}


def take_counts() -> list[Count]:
    """By how much the counters of this process have grown since the last call, for a parent that shows them."""
    grown = []
    for name, metric in _declared.items():
        if not isinstance(metric, Counter):
            continue
        for sample in next(iter(metric.collect())).samples:
            key = (sample.name, tuple(sample.labels.values()))
            amount = sample.value - _taken.get(key, 0.0)
            if sample.name == name and amount > 0:
                _taken[key] = sample.value
                grown.append(Count(name, sample.labels, amount))
    return grown


def add_counts(counts: Sequence[Count]) -> None:
    """Add what a child has taken; counters that are not declared here are left out."""
    for count in counts:
        metric = _declared.get(count.name)
        if isinstance(metric, Counter):
            (metric.labels(**count.labels) if count.labels else metric).inc(count.amount)


def render() -> bytes:
    """All metrics in the text format of Prometheus."""
    return generate_latest(REGISTRY)


def describe_process(version: str, commit: str) -> None:
    """Add build_info and the figures of the operating system (fds, RSS, CPU); once per process."""
    gauge("mobiletest_build_info", "The build of this process", ["version", "commit"]).labels(version, commit).set(1)
    if "process" not in _platform:
        _platform["process"] = (ProcessCollector(registry=REGISTRY), PlatformCollector(registry=REGISTRY))


_platform: dict[str, object] = {}


_loop_lag = histogram(
    "mobiletest_event_loop_lag_seconds", "Seconds by which the event loop of a thread wakes up late", ("thread",)
)


async def measure_loop_lag(thread: str, every: float = 0.25) -> None:
    """Measure until cancelled how late the event loop of this thread wakes up."""
    lag = _loop_lag.labels(thread)
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + every
        await asyncio.sleep(every)
        lag.observe(max(0.0, loop.time() - due))
