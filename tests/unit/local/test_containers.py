from types import SimpleNamespace
from typing import Any

from tests.containers import describe_exit


class FakeDockerContainer:
    """What Docker's client tells about a container; its status and state are known after `reload`."""

    def __init__(self, status: str, exit_code: int = 0) -> None:
        self.status = ""
        self.attrs: dict[str, Any] = {}
        self._status = status
        self._exit_code = exit_code

    def reload(self) -> None:
        self.status = self._status
        self.attrs = {"State": {"ExitCode": self._exit_code}}

    def logs(self, *, tail: int) -> bytes:
        return b"Shutting down\n"


def container(docker_container: FakeDockerContainer | None) -> Any:
    return SimpleNamespace(image="kafka:4.1", get_wrapped_container=lambda: docker_container)


def test_a_container_that_ended_is_described_with_its_exit_code_and_its_log() -> None:
    description = describe_exit(container(FakeDockerContainer("exited", exit_code=3)))
    assert description == "kafka:4.1 ended before the tests, {'ExitCode': 3}:\nShutting down\n"


def test_nothing_is_said_of_a_container_that_runs() -> None:
    assert describe_exit(container(FakeDockerContainer("running"))) == ""


def test_nothing_is_said_of_a_container_that_was_never_made() -> None:
    assert describe_exit(container(None)) == ""
