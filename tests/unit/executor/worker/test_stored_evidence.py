"""What an attempt may store is decided, and what it has stored is listed, by its worker."""

import pytest

from mobiletest_automation.devices.port import NO_BUILD, Seed
from mobiletest_automation.evidence import recorder
from mobiletest_automation.model.failures import Category, Failure
from mobiletest_automation.model.results import Artifact, AttemptResult
from services.executor.worker.processes import host as hosts
from services.executor.worker.processes.host import AttemptHost, Services
from services.executor.worker.processes.messages import FinishAttempt, UnknownMessage
from tests.fakes.devices import FakeDevices, FakeEvidence

KILLED = Failure(Category.SCRIPT_ERROR, "too much", "too much")


class Scene:
    def __init__(self) -> None:
        self.evidence = FakeEvidence()
        services = Services(devices=FakeDevices(), evidence=self.evidence)
        self.host = AttemptHost(services, org_id="org", platform="android", build=NO_BUILD, seed=Seed("run", 1))

    async def keep(self, name: str, content: bytes, content_type: str = recorder.PNG) -> None:
        await self.host.evidence.keep(name, content, content_type)


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(hosts, "ARTIFACT_BYTES_LIMIT", 10)
    monkeypatch.setattr(hosts, "ARTIFACTS_LIMIT", 3)
    return Scene()


async def test_an_attempt_stores_no_more_than_it_may(scene: Scene) -> None:
    await scene.keep("a.png", b"12345")
    with pytest.raises(UnknownMessage, match="too many"):
        await scene.keep("b.png", b"123456")
    await scene.keep("a.png", b"1")  # in place of the earlier one
    await scene.keep("b.png", b"123456")
    await scene.keep("c.png", b"1")
    with pytest.raises(UnknownMessage, match="too many"):
        await scene.keep("d.png", b"")
    assert set(scene.evidence.kept) == {"a.png", "b.png", "c.png"}


async def test_what_could_not_be_stored_takes_no_room(scene: Scene) -> None:
    scene.evidence.failure = OSError("away")
    with pytest.raises(OSError, match="away"):
        await scene.keep("a.png", b"1234567890")
    scene.evidence.failure = None
    await scene.keep("b.png", b"1234567890")
    assert [each.name for each in scene.host.early_end(KILLED).artifacts] == ["b.png"]


async def test_an_artifact_has_the_name_of_a_file(scene: Scene) -> None:
    with pytest.raises(UnknownMessage, match="name"):
        await scene.keep("../../other-run/1/a.png", b"1")


async def test_what_a_killed_attempt_has_stored_is_listed(scene: Scene) -> None:
    """Otherwise it would count for nobody, for as long as it is kept."""
    await scene.keep("attempt-1-step-000.png", b"12")
    await scene.keep("attempt-1-log.txt", b"123", recorder.TEXT)
    await scene.keep("attempt-1-end-x.mp4", b"1", "video/mp4")
    assert [(each.kind, each.size_bytes) for each in scene.host.early_end(KILLED).artifacts] == [
        ("screenshot", 2),
        ("log", 3),
        ("recording", 1),
    ]


async def test_an_attempt_does_not_decide_how_large_its_artifacts_are(scene: Scene) -> None:
    await scene.keep("a.xml", b"123", "application/xml")
    claims = [Artifact(name, "tree", "application/xml", -5) for name in ("a.xml", "unknown.xml")]
    result = scene.host.finish(FinishAttempt(result=AttemptResult(artifacts=tuple(claims))))
    assert result is not None
    assert result.artifacts == (Artifact("a.xml", "tree", "application/xml", 3),)
