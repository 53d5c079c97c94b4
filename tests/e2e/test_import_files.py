"""Folders with pictures through the API: they reach the device, and screens are compared with them."""

from hashlib import sha256
from typing import Any

from tests.e2e.client import Api, created, fresh
from tests.e2e.test_import import FOLDERS, paths, send, zip_folder
from tests.e2e.world import World
from tests.fakes.workspaces import PNG, zip_files

NOTES = b"""app_model: 1
app: {id: com.example.notes, name: Notes}
start: home
state: {search: ""}
screens:
  home:
    title: My notes
    elements:
      - {type: field, label: Search, bind: search}
      - {type: button, text: New note}
"""


async def notes_app(world: World) -> Any:
    app = await world.app()
    await world.api.upload(app["id"], NOTES, version="1")
    return app


async def read_tests(api: Api, report: Any) -> dict[str, Any]:
    """The tests that an import created or changed, by their paths."""
    listed = [*report["created"], *report["changed"]]
    return {each["path"]: created(await api.get(f"/tests/{each['test_id']}")) for each in listed}


async def test_pictures_of_a_folder_reach_the_device(api: Api, world: World) -> None:
    """The folder is a team's, as it is; pictures are read from it by the flow in tests/photos."""
    app, workspace, archive = await notes_app(world), fresh("w"), zip_folder("notes")
    first = created(await send(api, archive, workspace, app_id=app["id"]))
    assert "refused" not in paths(first)
    test = (await read_tests(api, first))["tests/photos/attach.yaml"]
    assert {file["path"]: file["sha256"] for file in test["files"]} == {
        path: sha256((FOLDERS / "notes" / path).read_bytes()).hexdigest() for path in ("media/cat.png", "media/cat.jpg")
    }
    workflow = await world.workflow(test)
    run = await world.only_run(await world.run(workflow))
    assert run["success"], run["failure"]
    assert run["attempts"][0]["steps"][0]["action"] == "add_media"
    second = created(await send(api, archive, workspace))
    assert paths(second) == {"unchanged": paths(first)["created"]}


async def test_screens_are_compared_with_pictures_of_the_folder(api: Api, world: World) -> None:
    app, workspace = await notes_app(world), fresh("w")
    take = "- launchApp\n- takeScreenshot: home\n- tapOn: Search\n- inputText: A long note\n- takeScreenshot: typed\n"
    (taken,) = (await read_tests(api, created(await send(api, zip_files({"a.yaml": take}), workspace)))).values()
    await world.attach(app, taken)
    first = await world.only_run(await world.run(await world.workflow(taken)))
    assert first["success"], first["failure"]
    pictures = [each["url"] for each in first["attempts"][0]["artifacts"] if each["kind"] == "screenshot"]
    home, typed = [await api.download(url) for url in pictures]

    async def import_and_run(picture: bytes) -> Any:
        flow = "- launchApp\n- assertScreenshot: {path: ../shots/home, thresholdPercentage: 100}\n"
        files = {"config.yaml": "flows: flows/*", "flows/home.yaml": flow, "shots/home.png": picture}
        report = created(await send(api, zip_files(files), workspace, app_id=app["id"]))
        test = (await read_tests(api, report))["flows/home.yaml"]
        return await world.only_run(await world.run(await world.workflow(test), run_config={"retries": 0}))

    assert (await import_and_run(home))["success"]
    failed = await import_and_run(typed)
    assert (failed["success"], failed["test_version_number"]) == (False, 2)
    assert failed["failure"]["message"].startswith('the screen differs from the baseline "../shots/home.png"')


async def test_flow_with_a_picture_that_is_missing_is_refused_with_its_place(api: Api) -> None:
    files = {"a.yaml": "- launchApp\n- addMedia:\n    - cat.png\n", "b.yaml": "- addMedia: [dog.png]\n", "dog.png": PNG}
    report = created(await send(api, zip_files(files), fresh("w")))
    assert paths(report) == {"created": ["b.yaml"], "refused": ["a.yaml"]}
    (problem,) = report["refused"][0]["problems"]
    assert (problem["file"], problem["line"], problem["column"]) == ("a.yaml", 3, 7)
    assert problem["message"].startswith("the file cat.png was not sent along")


async def test_a_flow_without_its_folder_gets_the_advice_to_import_it(api: Api, world: World) -> None:
    test = created(await api.post("/tests", {"flow": "name: N\n---\n- launchApp\n- addMedia: [cat.png]\n"}))
    assert "import the folder of the flow with POST /tests/import" in test["notices"][0]
    app, *_ = await world.passing_app()
    await world.attach(app, test)
    run = await world.only_run(await world.run(await world.workflow(test)))
    assert run["failure"]["category"] == "config_invalid"
    assert "the file cat.png was not sent along" in run["failure"]["message"]


async def test_flow_knows_the_name_of_its_file(api: Api, world: World) -> None:
    app, workspace = await notes_app(world), fresh("w")
    flow = "name: Another name\n---\n- launchApp\n- assertTrue: ${MAESTRO_FILENAME == 'check_out'}\n"
    report = created(await send(api, zip_files({"check_out.yaml": flow}), workspace, app_id=app["id"]))
    (test,) = (await read_tests(api, report)).values()
    run = await world.only_run(await world.run(await world.workflow(test)))
    assert run["success"], run["failure"]
