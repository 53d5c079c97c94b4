"""The broker ACLs that deploy/kafka sets: exactly what the services use, and who could forge what."""

from collections import defaultdict

from deploy.local.layout import CALLERS
from services.catalog.events import CATALOG_EVENTS, KEY_EVENTS
from services.catalog.events import TOPICS as CATALOG_TOPICS
from services.chassis.dead_letters.replay import GROUP
from services.chassis.topics import DEAD_LETTERS
from services.executor.events import EXECUTION_EVENTS, RUN_REQUESTS
from services.executor.events import TOPICS as EXECUTOR_TOPICS
from services.gateway.app import KEY_EVENTS as GATEWAY_TOPICS
from services.reporting.consumer import TOPICS as REPORTING_TOPICS
from tests.deploy.kustomize import ROOT
from tests.deploy.variables import variables

FILE = ROOT / "deploy" / "kafka" / "acls.txt"
# User -> (operation, resource).
Rights = dict[str, set[tuple[str, str]]]


def rights() -> Rights:
    rights_by_user: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for line in FILE.read_text().splitlines():
        if line and not line.startswith("#"):
            user, operations, *resources = line.split()
            assert len({each.endswith("*") for each in resources}) == 1, "one pattern type a line"
            rights_by_user[user] |= {(operation, each) for operation in operations.split(",") for each in resources}
    return dict(rights_by_user)


def used(creates: dict[str, int], writes: set[str], reads: set[str], groups: set[str]) -> set[tuple[str, str]]:
    """What a process needs that creates these topics with their dead letters; it dead-letters what it reads."""
    topics = creates.keys() | {topic + DEAD_LETTERS for topic in creates}
    return {
        *(("Create", f"topic:{topic}") for topic in topics),
        *(("Write", f"topic:{topic}") for topic in writes | {topic + DEAD_LETTERS for topic in reads}),
        *(("Read", f"topic:{topic}") for topic in reads),
        *(("Read", f"group:{group}") for group in groups),
    }


def test_services_may_do_what_they_do_and_no_more() -> None:
    requests, published = set(RUN_REQUESTS.values()), set(EXECUTOR_TOPICS)
    workers = f"{variables('executor')['MOBILETEST_EXECUTOR_GROUP']}-*"
    reporting = str(variables("reporting")["MOBILETEST_REPORTING_GROUP"])
    expected = {
        "gateway": used(GATEWAY_TOPICS, set(), {KEY_EVENTS}, {"gateway-*"}),
        "catalog": used(CATALOG_TOPICS, set(CATALOG_TOPICS), set(), set()),
        "executor-api": used(EXECUTOR_TOPICS, published, set(), set()),
        "executor-worker": used(EXECUTOR_TOPICS, published, requests, {workers}),
        "reporting": used(REPORTING_TOPICS, set(), {EXECUTION_EVENTS, CATALOG_EVENTS}, {reporting}),
    }
    granted = rights()
    assert {service: granted[f"mobiletest-{service}"] for service in expected} == expected


def test_every_caller_has_a_user_and_operators_replay_dead_letters() -> None:
    granted = rights()
    assert granted.keys() == {f"mobiletest-{name}" for name in (*CALLERS, "catalog", "keda")}
    assert ("Read", f"group:{GROUP}*") in granted["mobiletest-operator"]
