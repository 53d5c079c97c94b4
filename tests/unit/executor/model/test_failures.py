"""Whose fault a failure is."""

from collections import Counter

from mobiletest_automation.model.failures import CANCELLATIONS, Category, Fault


def test_every_category_has_a_fault() -> None:
    assert Counter(category.fault for category in Category) == {
        Fault.TEST: 8,
        Fault.INFRASTRUCTURE: 7,
        Fault.NEITHER: 8,
    }


def test_lost_workers_and_queue_timeouts_are_infrastructure_failures() -> None:
    assert Category.EXECUTOR_LOST.fault is Fault.INFRASTRUCTURE
    assert Category.QUEUE_TIMEOUT.fault is Fault.INFRASTRUCTURE


def test_time_limits_and_invalid_configurations_are_nobodys_fault() -> None:
    assert {Category.RUN_TIMEOUT.fault, Category.CONFIG_INVALID.fault} == {Fault.NEITHER}
    assert {category.fault for category in CANCELLATIONS} == {Fault.NEITHER}
