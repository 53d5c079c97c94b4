"""Folders of Maestro flows through the API: imported, imported again, refused, listed, run."""

import io
import stat
import zipfile
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.e2e.client import Answer, Api, created, fresh
from tests.e2e.world import World
from tests.fakes.workspaces import FLOW, PNG, zip_files

FOLDERS = Path(__file__).parents[1] / "unit" / "flows" / "workspaces"
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


async def test_changes_of_a_folder(api: Api) -> None:
    """What was changed is a new version, what is gone is kept; a dry run changes nothing."""
    workspace = fresh("w")
    before = {"a.yaml": FLOW, "b.yaml": FLOW, "c.yaml": "- runFlow: parts/p.yaml", "parts/p.yaml": "- back"}
    await send(api, zip_files(before), workspace)
    after = zip_files(before | {"b.yaml": "- tapOnn: x", "parts/p.yaml": "- hideKeyboard", "d.yaml": "- back"})
    expected = {"created": ["d.yaml"], "changed": ["c.yaml"], "unchanged": ["a.yaml"], "refused": ["b.yaml"]}
    preview = created(await send(api, after, workspace, dry_run="true"))
    assert (paths(preview), preview["created"][0]["test_id"]) == (expected, None)
    report = created(await send(api, after, workspace))
    assert paths(report) == expected
    assert report["changed"][0]["version_number"] == 2
    left = created(await send(api, zip_files({"a.yaml": FLOW}), workspace))
    assert paths(left) == {"unchanged": ["a.yaml"], "missing": ["b.yaml", "c.yaml", "d.yaml"]}
    test = created(await api.get(f"/tests/{left['missing'][0]['test_id']}"))
    assert (test["workspace"], test["source_path"], test["name"]) == (workspace, "b.yaml", "b")


async def test_files_of_a_form(api: Api) -> None:
    data = aiohttp.FormData(quote_fields=False)
    flow = b"- runFlow: ../p.yaml\n- addMedia: [../m/cat.png]\n"
    files = {"config.yaml": b"flows: tests/*", "tests/a.yaml": flow, "p.yaml": FLOW.encode(), "m/cat.png": PNG}
    for path, content in files.items():
        data.add_field("files", content, filename=path)
    report = created(await api.post("/tests/import", data=data, params={"workspace": fresh("w")}))
    assert paths(report) == {"created": ["tests/a.yaml"]}


async def test_imported_tests_run(api: Api, world: World) -> None:
    app, *_ = await world.passing_app()
    flow = "name: Imported\n---\n- launchApp\n- runFlow: parts/p.yaml\n"
    archive = zip_files({"a.yaml": flow, "parts/p.yaml": "- assertVisible: Log in\n"})
    report = created(await send(api, archive, fresh("w"), app_id=app["id"]))
    test = created(await api.get(f"/tests/{report['created'][0]['test_id']}"))
    assert [each["app_id"] for each in test["attachments"]] == [app["id"]]
    execution = await world.run(await world.workflow(test))
    assert execution["success"]


def link() -> bytes:
    entry, archive = zipfile.ZipInfo("a.yaml"), io.BytesIO()
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(entry, "/etc/passwd")
    return archive.getvalue()


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (link(), '"a.yaml" is a link'),
        (zip_files({"README.md": "x"}), "there is no flow"),
        (zip_files({"config.yaml": "flows: [a\n- x", "a.yaml": FLOW}), "config.yaml, line 3"),
        (b"", "not a readable zip archive"),
    ],
    ids=["link", "no flow", "configuration", "empty"],
)
async def test_refused_folders_say_why(api: Api, archive: bytes, message: str) -> None:
    answer = await send(api, archive, fresh("w"))
    assert (answer.status, answer.locations()) == (422, [["body", "file"]])
    assert message in answer.detail[0]["msg"]


async def test_parameters_are_checked(api: Api) -> None:
    unknown = await send(api, zip_files({"a.yaml": FLOW}), "w", app_id="7d444840-9dc0-41d1-b245-5ffdce74fad2")
    assert unknown.status == 404
    assert (await send(api, b"x", "w" * 101)).locations() == [["query", "workspace"]]
