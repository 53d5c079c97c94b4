"""Whose fault a failure is."""

from collections import Counter

from services.executor.model.failures import CANCELLATIONS, Category, Fault


def test_each_category_is_somebodys() -> None:
    assert Counter(category.fault for category in Category) == {
        Fault.TEST: 8,
        Fault.INFRASTRUCTURE: 7,
        Fault.NEITHER: 7,
    }


def test_a_lost_worker_and_a_full_queue_are_infrastructure() -> None:
    assert Category.EXECUTOR_LOST.fault is Fault.INFRASTRUCTURE
    assert Category.QUEUE_TIMEOUT.fault is Fault.INFRASTRUCTURE


def test_time_limits_and_wrong_configurations_are_neithers() -> None:
    assert {Category.RUN_TIMEOUT.fault, Category.CONFIG_INVALID.fault} == {Fault.NEITHER}
    assert {category.fault for category in CANCELLATIONS} == {Fault.NEITHER}
