"""Which variables of the environment reach the flows of a folder."""

from pathlib import Path

from mobiletest_cli.shell_variables import shell_variables
from mobiletest_cli.workspace import find_files
from tests.unit.cli.test_workspace import write

ENVIRON = {
    "MAESTRO_EMAIL": "ada@example.com",
    "MAESTRO_SERVER": "s",
    "MAESTRO_UNREAD": "u",
    "MAESTRO_EMPTY": "",
    "PATH": "p",
}
ITS_OWN = {"MAESTRO_SHARD_ID": "9", "MAESTRO_SHARD_INDEX": "8", "MAESTRO_FILENAME": "f", "MAESTRO_APP_ID": "a"}
SETTINGS = {"MAESTRO_CLOUD_API_KEY": "k", "MAESTRO_OPTS": "o", "MAESTRO_CLI_NO_ANALYTICS": "1"}


def reading(*names: str) -> str:
    return "".join(f"- inputText: ${{{name}}}\n" for name in names)


def test_variables_that_a_flow_reads_reach_it(tmp_path: Path) -> None:
    flow = reading("MAESTRO_EMAIL", "MAESTRO_EMPTY", "PATH") + "- runFlow: part.yaml\n"
    write(tmp_path, {"a.yaml": flow, "parts/b.yaml": reading("MAESTRO_UNREAD"), "part.yaml": reading("MAESTRO_SERVER")})
    assert shell_variables(find_files([tmp_path / "a.yaml"]), ENVIRON) == {
        "MAESTRO_EMAIL": "ada@example.com",
        "MAESTRO_SERVER": "s",
    }


def test_variables_of_the_runner_and_settings_of_maestro_are_not_sent(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": reading(*ITS_OWN, *SETTINGS)})
    assert shell_variables(find_files([tmp_path]), {**ITS_OWN, **SETTINGS}) == {}


def test_flows_that_are_not_known_read_nothing(tmp_path: Path) -> None:
    write(tmp_path, {"config.yaml": "flows: [", "a.yaml": reading("MAESTRO_EMAIL")})
    assert shell_variables(find_files([tmp_path]), ENVIRON) == {}
