"""Volumes have room for what the settings let a service put there, and requests for storage are true."""

from pathlib import PurePosixPath
from typing import Any

import pytest

from services.catalog.settings import Settings as CatalogSettings
from services.executor.settings import Settings as ExecutorSettings
from tests.deploy.kustomize import DEPLOYMENTS, TARGETS, Manifest, container, deployment_of, in_bytes, pod
from tests.deploy.test_compose import document, interpolated
from tests.deploy.test_compose import environment as compose_environment
from tests.deploy.test_pods import process_settings
from tests.deploy.variables import loaded

MEBIBYTE = 1024**2
# What the node keeps of a container's output, besides its volumes.
LOGS = 64 * MEBIBYTE
# Room in a volume for what the settings do not count: files of a killed process, and what inspecting takes.
MARGIN = 64 * MEBIBYTE


def disk_volumes(deployment: Manifest) -> dict[str, int]:
    """The size of each volume on the node's disk, by its name."""
    volumes = {volume["name"]: volume["emptyDir"] for volume in pod(deployment)["volumes"] if "emptyDir" in volume}
    return {name: in_bytes(each["sizeLimit"]) for name, each in volumes.items() if each.get("medium") != "Memory"}


def size_of(deployment: Manifest, folder: str) -> int:
    """The size of the volume that a folder is on."""
    mounts = {mount["mountPath"]: mount["name"] for mount in container(deployment)["volumeMounts"]}
    path = PurePosixPath(folder)
    parent = next(str(each) for each in (path, *path.parents) if str(each) in mounts)
    return disk_volumes(deployment)[mounts[parent]]


@pytest.mark.parametrize(("target", "name"), DEPLOYMENTS)
def test_pods_request_the_storage_that_they_may_use(target: str, name: str) -> None:
    deployment = deployment_of(target, name)
    resources: Any = container(deployment)["resources"]
    used = sum(disk_volumes(deployment).values())
    requested, limit = (in_bytes(resources[kind]["ephemeral-storage"]) for kind in ("requests", "limits"))
    assert used <= requested <= limit
    assert used + LOGS <= limit


@pytest.mark.parametrize("target", TARGETS)
def test_the_spool_of_uploads_fits_its_volume(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    deployment = deployment_of(target, "catalog")
    settings = process_settings(target, deployment, monkeypatch)
    assert isinstance(settings, CatalogSettings)
    assert settings.artifact_max_bytes <= settings.spool_bytes
    assert settings.spool_bytes + MARGIN <= size_of(deployment, str(settings.spool_folder))


@pytest.mark.parametrize("target", TARGETS)
def test_what_workers_store_fits_its_volumes(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    deployment = deployment_of(target, "executor-worker")
    settings = process_settings(target, deployment, monkeypatch)
    assert isinstance(settings, ExecutorSettings)
    assert settings.artifact_spool is not None
    assert settings.artifact_spool_bytes + MARGIN <= size_of(deployment, settings.artifact_spool)
    if settings.executor_files_folder is not None:
        assert settings.executor_files_bytes + MARGIN <= size_of(deployment, settings.executor_files_folder)


def test_compose_spools_on_a_disk_and_its_memory_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = document()["services"]["catalog"]
    assert [interpolated(each) for each in catalog["tmpfs"]] == ["/tmp:size=64m"]
    settings = loaded("catalog", compose_environment(catalog), monkeypatch)
    assert isinstance(settings, CatalogSettings)
    mounted = [volume.partition(":")[2] for volume in catalog["volumes"]]
    assert any(settings.spool_folder.is_relative_to(folder) for folder in mounted)
    assert settings.artifact_max_bytes <= settings.spool_bytes
