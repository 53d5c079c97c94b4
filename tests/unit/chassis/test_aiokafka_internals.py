"""The private parts of aiokafka that are used are still there, and do the same: an upgrade may change them."""

import inspect

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.consumer.group_coordinator import GroupCoordinator
from aiokafka.consumer.subscription_state import SubscriptionState


async def test_clients_have_their_connections() -> None:
    for made in (AIOKafkaConsumer(), AIOKafkaAdminClient()):
        assert isinstance(made._client, AIOKafkaClient)


def test_the_wait_is_read_at_each_fetch() -> None:
    assert "self._fetch_max_wait_ms" in inspect.getsource(Fetcher._get_actions_per_node)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        (GroupCoordinator.fetch_committed_offsets, ["self", "partitions"]),
        (GroupCoordinator.ensure_coordinator_known, ["self"]),
        (GroupCoordinator._do_commit_offsets, ["self", "assignment", "offsets"]),
    ],
)
def test_the_coordinator_takes_the_same(method: object, parameters: list[str]) -> None:
    assert inspect.iscoroutinefunction(method)
    assert [*inspect.signature(method).parameters] == parameters


def test_a_commit_names_its_generation_before_it_waits() -> None:
    """Afterwards the consumer may be in the next one."""
    before, _, after = inspect.getsource(GroupCoordinator._do_commit_offsets).partition("await ")
    assert "self.generation" in before
    assert "self.generation" not in after


async def test_a_consumer_has_its_coordinator_and_its_assignment() -> None:
    started = inspect.getsource(AIOKafkaConsumer.start)
    assert "self._coordinator = GroupCoordinator(" in started
    assert "self._fetcher = Fetcher(" in started
    assert "self._subscription = SubscriptionState(" in inspect.getsource(AIOKafkaConsumer.__init__)
    subscription = SubscriptionState()
    subscription.subscribe({"topic"})
    assert subscription.subscription.assignment is None
