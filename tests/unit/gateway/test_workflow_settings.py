"""The settings of a workflow as a form shows them."""

from mobiletest.types.v1 import run_config_pb2

from services.gateway.dashboard.workflow_settings import SETTINGS, env_lines, settings_of


def test_every_setting_is_a_field_of_run_config() -> None:
    """With the choices that it has there."""
    for setting in SETTINGS:
        place, field = run_config_pb2.RunConfig.DESCRIPTOR, None
        for name in setting.path.split("."):
            field = place.fields_by_name[name]
            place = field.message_type
        assert field is not None
        if field.enum_type is not None:
            offered = {value for value, _ in setting.choices}
            assert len(offered) == len(field.enum_type.values) - 1, setting.path
        assert (setting.kind == "boolean") == (field.type == field.TYPE_BOOL), setting.path


def test_settings_have_the_values_of_a_run_config() -> None:
    stored = {"execution_mode": {"retries": 0, "enable_planning": False}, "llm_config": None, "screens": "off"}
    values = {setting.path: (setting.value, setting.shown) for setting in settings_of(stored) if setting.value}
    assert values == {
        "execution_mode.retries": ("0", "0"),
        "execution_mode.enable_planning": ("false", "no"),
        "screens": ("off", "nothing"),
    }


def test_variables_are_lines() -> None:
    """What a line cannot say is an object as in the API."""
    env = {
        "A": "x = 1",
        "B": {"secret": "b-1"},
        "C": "two\nlines",
        "D": "{secret: x}",
        "E": {"value": "1", "variant": False},
    }
    assert env_lines(env).splitlines() == [
        "A=x = 1",
        "B={secret: b-1}",
        'C={"value":"two\\nlines"}',
        'D={"value":"{secret: x}"}',
        'E={"value":"1","variant":false}',
    ]
    assert env_lines(None) == ""
