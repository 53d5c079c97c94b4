"""Pictures and videos of a workspace: which files a flow needs, by paths that its steps have, and what is refused."""

import json
from collections.abc import Mapping
from hashlib import sha256

import pytest

from mobiletest_automation.flows.loader import Json, load_flow
from mobiletest_automation.flows.workspace import Workspace, WorkspaceFlow
from mobiletest_automation.flows.workspace_media import FILE_BYTES, FILES_LIMIT, SCRIPT_FILE_BYTES, MediaFile
from tests.fakes.workspaces import PNG

JPEG = b"\xff\xd8\xff picture"
GIF = b"GIF89a picture"
MP4 = b"\x00\x00\x00\x18ftypmp42 video"


def read(texts: Mapping[str, str], **others: bytes) -> WorkspaceFlow:
    """The only flow of a workspace; names of other files have "__" instead of "/" and "_" instead of "."."""
    files = {name.replace("__", "/").replace("_", "."): content for name, content in others.items()}
    (flow,) = Workspace({"config.yaml": "flows: tests/**", **texts}, files).flows()
    return flow


def media(*names: str) -> str:
    return "appId: a\n---\n- addMedia:\n" + "".join(f"    - {name}\n" for name in names)


def file_of(path: str, content: bytes) -> MediaFile:
    return MediaFile(path, sha256(content).hexdigest(), len(content))


def refusal(flow: WorkspaceFlow) -> str:
    (problem,) = flow.problems
    assert not flow.files
    return f"{problem.file} {problem.line}:{problem.column} {problem.message}"


def test_files_have_their_paths_in_the_workspace() -> None:
    flow = read({"tests/a.yaml": media("../p/cat.png", "./dog.jpg")}, p__cat_png=PNG, tests__dog_jpg=JPEG)
    assert json.loads(flow.steps)[1:] == [{"addMedia": ["p/cat.png", "tests/dog.jpg"]}]
    assert flow.files == (file_of("p/cat.png", PNG), file_of("tests/dog.jpg", JPEG))


def test_files_of_parts_are_found_beside_the_parts() -> None:
    """Two files of one name in different folders are two files."""
    part = "- addMedia: {files: [cat.png], label: again}\n"
    texts = {"tests/a.yaml": "- addMedia: [cat.png]\n- runFlow: ../parts/b.yaml\n", "parts/b.yaml": part}
    flow = read(texts, tests__cat_png=PNG, parts__cat_png=GIF)
    assert {file.path for file in flow.files} == {"tests/cat.png", "parts/cat.png"}
    run = {"label": "parts/b.yaml", "commands": [{"addMedia": {"files": ["parts/cat.png"], "label": "again"}}]}
    assert json.loads(flow.steps)[-1] == {"runFlow": run}


@pytest.mark.parametrize("content", [PNG, JPEG, GIF, MP4])
def test_kinds_are_known_by_their_first_bytes(content: bytes) -> None:
    assert read({"tests/a.yaml": media("x.mp4")}, tests__x_mp4=content).files


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("y.png", PNG, "4:7 the file tests/y.png was not sent along; did you mean tests/x.png?"),
        ("../../x.png", PNG, "4:7 ../x.png is outside the folder of the workspace"),
        ("${NAME}.png", PNG, "4:7 the name of a file cannot have variables"),
        ("x.png", b"version https://git-lfs", "4:7 tests/x.png is not a PNG or JPEG or GIF or MP4 file"),
        ("x.png", b"", "4:7 tests/x.png is not a PNG or JPEG or GIF or MP4 file"),
        ("x.png", PNG.ljust(FILE_BYTES + 1), f"4:7 tests/x.png has more than {FILE_BYTES} bytes"),
    ],
    ids=["missing", "outside", "variable", "pointer", "empty", "large"],
)
def test_files_that_cannot_be_used_refuse_the_flow(name: str, content: bytes, message: str) -> None:
    assert refusal(read({"tests/a.yaml": media(name)}, tests__x_png=content)) == f"tests/a.yaml {message}"


def test_a_missing_file_of_a_part_is_reported_with_its_position() -> None:
    texts = {"tests/a.yaml": "- runFlow: ../parts/b.yaml\n", "parts/b.yaml": "- back\n- addMedia: [x.png]\n"}
    assert refusal(read(texts)).startswith("parts/b.yaml 2:14 the file parts/x.png was not sent along")


def test_number_of_files_is_limited() -> None:
    names = [f"{number}.png" for number in range(FILES_LIMIT + 1)]
    texts = {"tests/a.yaml": "".join(f"- addMedia: [{name}]\n" for name in names)}
    others = {f"tests__{name.replace('.', '_')}": PNG for name in names}
    assert "at most 20 pictures and videos" in refusal(read(texts, **others))


def steps_of(flow: WorkspaceFlow) -> list[Json]:
    return [step for step in json.loads(flow.steps) if isinstance(step, dict) and "assertScreenshot" in step]


def test_baseline_in_the_folder_is_a_file_of_the_step() -> None:
    """The name stays: by it a run's own screenshot and accepted baselines are known."""
    texts = {"tests/a.yaml": "- assertScreenshot: shots/home\n- assertScreenshot: {path: b.jpg, cropOn: X}\n"}
    flow = read(texts, tests__shots__home_png=PNG, tests__b_jpg=JPEG)
    assert steps_of(flow) == [
        {"assertScreenshot": {"path": "shots/home", "file": "tests/shots/home.png"}},
        {"assertScreenshot": {"path": "b.jpg", "cropOn": "X", "file": "tests/b.jpg"}},
    ]
    assert {file.path for file in flow.files} == {"tests/shots/home.png", "tests/b.jpg"}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("home", "the folder has no tests/home.png: accept the picture of the first run"),
        ("${X}", "its name has variables: accept the picture of the first run"),
    ],
)
def test_baseline_that_is_not_in_the_folder_has_a_notice(name: str, message: str) -> None:
    flow = read({"tests/a.yaml": f"- assertScreenshot: {name}\n"})
    assert steps_of(flow) == [{"assertScreenshot": name}]
    (notice,) = flow.notices
    assert (notice.line, notice.column) == (1, 21)
    assert notice.message == message


@pytest.mark.parametrize("taken", ["home", "home.png", "{path: home, cropOn: X}"])
def test_baseline_that_the_flow_takes_itself_has_no_notice(taken: str) -> None:
    texts = {
        "tests/a.yaml": "- runFlow: b.yaml\n- assertScreenshot: home\n",
        "tests/b.yaml": f"- takeScreenshot: {taken}",
    }
    flow = next(flow for flow in Workspace({"config.yaml": "flows: tests/a.yaml", **texts}).flows())
    assert (flow.notices, flow.problems) == ((), ())


def test_baseline_is_a_picture() -> None:
    flow = read({"tests/a.yaml": "- assertScreenshot: home\n"}, tests__home_png=GIF)
    assert refusal(flow) == "tests/a.yaml 1:21 tests/home.png is not a PNG or JPEG file"


def test_only_an_import_names_the_file_of_a_baseline() -> None:
    text = "- assertScreenshot: {path: home, file: /etc/x.png}\n"
    assert "unknown field" in refusal(read({"tests/a.yaml": text}))
    assert "unknown field" in str(load_flow(text).problems[0])


def test_a_flow_without_its_folder_gets_the_advice_to_use_the_import() -> None:
    loaded = load_flow("- addMedia: [p.png]\n- assertScreenshot: home\n")
    assert loaded.steps == [{"addMedia": ["p.png"]}, {"assertScreenshot": "home"}]
    (notice,) = loaded.notices
    assert (notice.line, notice.column) == (1, 13)
    assert "import the folder of the flow with POST /tests/import" in notice.message


UPLOAD = """// don't send "p/cat.png" twice
http.post(URL, {multipartForm: {bill: {filePath: '../p/bill.pdf'}, cat: {filePath: "../p/cat.png"}}})
http.post(URL, {multipartForm: {list: {filePath: `p/list.csv`}}})
http.post(URL, {multipartForm: {none: {filePath: '../p/missing.pdf'}}})
"""


def test_files_that_only_scripts_name_come_along() -> None:
    texts = {
        "tests/a.yaml": "- runFlow: ../parts/b.yaml\n- evalScript: ${'p/note.txt'}\n- addMedia: [../p/cat.png]\n",
        "parts/b.yaml": "- runScript: ../scripts/send.js\n",
        "scripts/send.js": UPLOAD,
    }
    others = {
        "p__bill_pdf": b"%PDF",
        "p__cat_png": PNG,
        "p__list_csv": b"a,b",
        "p__note_txt": b"x",
        "p__other_txt": b"y",
    }
    flow = read(texts, **others)
    assert (flow.problems, flow.notices) == ((), ())
    assert [file.path for file in flow.files] == ["p/cat.png", "p/bill.pdf", "p/list.csv", "p/note.txt"]


def test_a_file_that_is_too_large_for_a_script_is_a_notice() -> None:
    texts = {"tests/a.yaml": "- runScript: s.js\n", "tests/s.js": "send('big.bin')"}
    flow = read(texts, tests__big_bin=b"x" * (SCRIPT_FILE_BYTES + 1))
    assert (flow.problems, flow.files) == ((), ())
    assert "tests/big.bin does not come along" in flow.notices[0].message


def test_pictures_of_commands_do_not_give_way_to_files_of_scripts() -> None:
    names = [f"p{number}.png" for number in range(FILES_LIMIT)]
    texts = {"tests/a.yaml": "- runScript: s.js\n" + media(*names).partition("---\n")[2], "tests/s.js": "'x.png'"}
    flow = read(texts, **{f"tests__p{number}_png": PNG for number in range(FILES_LIMIT)}, tests__x_png=PNG)
    assert [file.path for file in flow.files] == [f"tests/{name}" for name in names]
