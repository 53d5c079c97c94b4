from services.chassis import metrics
from tests.fakes.chassis import FakeClock


def test_the_same_name_gives_the_same_metric() -> None:
    first = metrics.counter("test_things_total", "Things", ["kind"])
    assert metrics.counter("test_things_total", "Things", ["kind"]) is first


def test_counters_are_rendered() -> None:
    metrics.counter("test_shown_total", "Shown", ["kind"]).labels("a").inc(2)
    assert b'test_shown_total{kind="a"} 2.0' in metrics.render()


def test_describing_the_process_twice_is_allowed() -> None:
    metrics.describe_process("1.2.3", "abc")
    metrics.describe_process("1.2.3", "abc")
    shown = metrics.render()
    assert b'mobiletest_build_info{commit="abc",version="1.2.3"} 1.0' in shown
    assert b"process_resident_memory_bytes" in shown


def test_a_figure_of_the_leader_is_absent_elsewhere_and_when_it_is_old() -> None:
    clock = FakeClock()
    gauge = metrics.LeaderGauge("test_leader_figure", "Known to one process", clock=clock.monotonic)

    def shown() -> float | None:
        return metrics.REGISTRY.get_sample_value("test_leader_figure")

    assert shown() is None
    gauge.set(7)
    assert shown() == 7
    gauge.clear()
    assert shown() is None
    gauge.set(0)
    clock.advance(metrics.LEADER_SECONDS - 1)
    assert shown() == 0
    clock.advance(1)
    assert shown() is None
