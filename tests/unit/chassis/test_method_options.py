from mobiletest.catalog.v1 import api_keys_pb2, apps_pb2
from mobiletest.executor.v1 import screens_pb2
from mobiletest.reporting.v1 import reports_pb2

from services.chassis.grpc_channel import service_config
from services.chassis.method_options import apply_defaults, describe_methods, field_defaults

APPS = apps_pb2.DESCRIPTOR.services_by_name["Apps"]
KEYS = api_keys_pb2.DESCRIPTOR.services_by_name["ApiKeys"]
SCREENS = screens_pb2.DESCRIPTOR.services_by_name["Screens"]


def test_method_options_are_read_from_the_protos() -> None:
    create = describe_methods([APPS])["/mobiletest.catalog.v1.Apps/CreateApp"]
    assert create.required_scope == "write"
    assert create.needs_organisation
    assert create.callers == {"gateway", "operator"}
    assert create.response is apps_pb2.App


def test_a_list_that_waits_for_its_own_turns_takes_none_of_those_at_pages() -> None:
    """Otherwise a few organisations with slow lists of screens hold up every list of all others."""
    methods = describe_methods([APPS, SCREENS])
    assert methods["/mobiletest.catalog.v1.Apps/ListApps"].is_paged
    assert not methods["/mobiletest.executor.v1.Screens/ListScreens"].is_paged


def test_calls_are_balanced_and_only_idempotent_ones_retried() -> None:
    methods = describe_methods([APPS])
    config = service_config(methods.values())
    names = {entry["method"] for entry in config["methodConfig"][0]["name"]}
    assert ("ListApps" in names, "CreateApp" in names) == (True, False)
    assert config["loadBalancingConfig"] == [{"round_robin": {}}]
    assert service_config([methods["/mobiletest.catalog.v1.Apps/CreateApp"]])["methodConfig"] == []


def test_every_default_in_the_protos_can_be_set() -> None:
    for file in (apps_pb2, api_keys_pb2, reports_pb2):
        for name, descriptor in file.DESCRIPTOR.message_types_by_name.items():
            message = getattr(file, name)()
            apply_defaults(message)
            assert all(getattr(message, field.name) == value for field, value in field_defaults(descriptor))
