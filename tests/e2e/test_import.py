"""Folders of Maestro flows through the API: imported, imported again, refused, listed, run."""

from pathlib import Path
from typing import Any

from tests.e2e.client import Answer, Api, created, fresh
from tests.fakes.workspaces import zip_files

FOLDERS = Path(__file__).parents[1] / "unit" / "automation" / "flows" / "workspaces"
ZIP = {"Content-Type": "application/zip"}
LISTS = ("created", "changed", "unchanged", "refused", "missing")


def zip_folder(name: str) -> bytes:
    files = [file for file in (FOLDERS / name).rglob("*") if file.is_file()]
    return zip_files({file.relative_to(FOLDERS).as_posix(): file.read_bytes() for file in files})


async def send(api: Api, archive: bytes, workspace: str, **params: str) -> Answer:
    return await api.post("/tests/import", data=archive, headers=ZIP, params={"workspace": workspace, **params})


def paths(report: Any) -> dict[str, list[str]]:
    """The paths of each list that is not empty; the counts agree with the lists."""
    assert all(report[f"{name}_count"] == len(report[name]) for name in LISTS)
    return {name: [each["path"] for each in report[name]] for name in LISTS if report[name]}


async def test_folder_becomes_tests_once(api: Api) -> None:
    workspace, archive = fresh("w"), zip_folder("both")
    first = created(await send(api, archive, workspace))
    refused = {each["path"]: each["problems"][0] for each in first["refused"]}
    assert (refused["bad_command.yaml"]["line"], refused["bad_command.yaml"]["column"]) == (4, 3)
    assert (refused["bad_path.yaml"]["line"], refused["bad_path.yaml"]["column"]) == (4, 12)
    loop = refused["loop_a.yaml"]
    assert (loop["file"], loop["line"], loop["message"]) == ("loop_b.yaml", 3, "loop_a.yaml runs itself")
    assert "loop_b.yaml" in refused
    assert {"no_header.yaml", "second.yaml"} <= set(paths(first)["created"])
    assert not {"third.yaml", "settings.yaml", "parts/count.yaml"} & {*refused, *paths(first)["created"]}
    second = created(await send(api, archive, workspace))
    assert paths(second) == {"unchanged": paths(first)["created"], "refused": sorted(refused)}
    assert second["unchanged"] == first["created"]
    assert {notice["file"] for notice in first["notices"]} == {"config.yaml"}


async def test_secrets_written_into_flows_are_noticed(api: Api) -> None:
    """With file and line, without the value; a secret that the test refers to is no reason for a notice."""
    flows = {"a.yaml": "name: A\nenv:\n  PASSWORD: hunter2\n---\n- back", "b.yaml": "env: {PIN: '${PIN}'}\n---\n- back"}
    report = await send(api, zip_files(flows), fresh("w"))
    [notice] = created(report)["notices"]
    assert (notice["file"], notice["line"]) == ("a.yaml", 3)
    assert '"PASSWORD" has a secret\'s name' in notice["message"]
    assert "hunter2" not in report.text
