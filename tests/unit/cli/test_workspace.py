"""Which files of a folder are sent, under which paths, and what is said of those that cannot be."""

import io
import os
import unicodedata
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from mobiletest_automation.flows.workspace_files import (
    ARCHIVE_BYTES,
    DEPTH_LIMIT,
    FILES_LIMIT,
    TEXT_BYTES,
    UNPACKED_BYTES,
)
from mobiletest_automation.flows.workspace_media import FILE_BYTES
from mobiletest_cli.errors import INVALID_FILE, CliError
from mobiletest_cli.folder_search import search
from mobiletest_cli.validation import validate
from mobiletest_cli.workspace import Workspace, find_files
from services.catalog.workspace_reader import read_file, read_workspace
from tests.fakes.workspaces import FLOW, PNG

CONFIG = "flows: '**'\n"


def write(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def grow(file: Path, size: int) -> None:
    """A file of this size that takes no space."""
    with file.open("wb") as opened:
        opened.truncate(size)


def packed(workspace: Workspace) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(workspace.archive)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def refusal(*paths: Path) -> CliError:
    with pytest.raises(CliError) as refused:
        find_files(paths)
    assert refused.value.exit_code == INVALID_FILE
    return refused.value


def test_flows_scripts_and_media_are_sent(tmp_path: Path) -> None:
    sent: dict[str, str | bytes] = {
        "config.yaml": CONFIG,
        "a.yaml": FLOW,
        "b/c.yml": FLOW,
        "s.js": "1",
        "p/cat.PNG": PNG,
        "p/v.mp4": b"\0",
    }
    write(tmp_path, {**sent, "README.md": "x", "app.apk": b"PK", "notes.txt": "x"})
    workspace = find_files([tmp_path])
    assert packed(workspace) == {path: c if isinstance(c, bytes) else c.encode() for path, c in sent.items()}
    assert workspace.selected == frozenset()


def test_hidden_files_and_packages_are_left_out_but_the_folder_of_maestro(tmp_path: Path) -> None:
    files = (".maestro/a.yaml", "b.yaml", ".github/ci.yaml", ".hidden.yaml", "node_modules/x/y.js", "__MACOSX/b.yaml")
    write(tmp_path, dict.fromkeys(files, FLOW))
    assert set(packed(find_files([tmp_path]))) == {".maestro/a.yaml", "b.yaml"}


def test_same_files_are_the_same_bytes(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"b.yaml": FLOW, "a.yaml": FLOW, "p.png": PNG}
    one = write(tmp_path / "one", files)
    other = write(tmp_path / "other", dict(reversed(files.items())))
    os.utime(other / "a.yaml", (0, 0))
    (other / "b.yaml").chmod(0o755)
    assert find_files([one]).archive == find_files([other]).archive


def test_links_inside_are_sent_as_files_and_others_are_left_out(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.yaml": FLOW})
    folder = write(tmp_path / "flows", {"a.yaml": FLOW, "parts/x.yaml": FLOW})
    (folder / "b.yaml").symlink_to("a.yaml")
    (folder / "shared").symlink_to("parts")
    (folder / "stolen.yaml").symlink_to(outside / "secret.yaml")
    (folder / "elsewhere").symlink_to(outside)
    (folder / "broken.yaml").symlink_to("nothing")
    workspace = find_files([folder])
    assert set(packed(workspace)) == {"a.yaml", "b.yaml", "parts/x.yaml", "shared/x.yaml"}
    reason = "is a link that is not followed: it leads out of the folder"
    nothing = "is a link that is not followed: it leads to nothing"
    assert workspace.left_out == {"stolen.yaml": reason, "elsewhere": reason, "broken.yaml": nothing}


def test_links_in_circles_end(tmp_path: Path) -> None:
    write(tmp_path, {"a/x.yaml": FLOW, "b/y.yaml": FLOW})
    (tmp_path / "a" / "up").symlink_to("..")
    (tmp_path / "a" / "other").symlink_to("../b")
    (tmp_path / "b" / "other").symlink_to("../a")
    assert set(packed(find_files([tmp_path]))) == {"a/x.yaml", "b/y.yaml", "a/other/y.yaml", "b/other/x.yaml"}


def test_files_that_no_flow_can_use_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": FLOW})
    grow(tmp_path / "film.mp4", FILE_BYTES + 1)
    grow(tmp_path / "bundle.js", TEXT_BYTES + 1)
    workspace = find_files([tmp_path])
    assert set(packed(workspace)) == {"a.yaml"}
    assert workspace.left_out == {
        "film.mp4": f"has {FILE_BYTES + 1} bytes; at most {FILE_BYTES} are taken",
        "bundle.js": f"has {TEXT_BYTES + 1} bytes; at most {TEXT_BYTES} are taken",
    }


def test_paths_begin_at_the_root_that_the_server_finds(tmp_path: Path) -> None:
    workspace = find_files([write(tmp_path, {"outer/flows/a.yaml": FLOW, "outer/flows/p/x.yaml": FLOW})])
    assert set(workspace.paths) == {"a.yaml", "p/x.yaml"}
    assert workspace.text("p/x.yaml") == FLOW
    assert workspace.display_path("p/x.yaml") == (tmp_path / "outer/flows/p/x.yaml").as_posix()
    assert workspace.display_path("config.yaml") == (tmp_path / "outer/flows/config.yaml").as_posix()


def test_files_are_shown_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"flows/a.yaml": FLOW})
    monkeypatch.chdir(tmp_path)
    assert find_files([Path("flows")]).display_path("a.yaml") == "flows/a.yaml"


BROKEN = {"config.yml": "flows: ["}


@pytest.mark.parametrize("around", [{"config.yaml": CONFIG}, BROKEN])
def test_single_flow_has_the_path_of_its_workspace(tmp_path: Path, around: Mapping[str, str]) -> None:
    """Of the other files those are sent that it runs."""
    files = {"account/login.yaml": "- runFlow: ../shared/start.yaml", "shared/start.yaml": FLOW, "b.yaml": FLOW}
    write(tmp_path, {**around, **files})
    workspace = find_files([tmp_path / "account" / "login.yaml"])
    assert workspace.selected == {"account/login.yaml"}
    sent = {*around, "account/login.yaml", "shared/start.yaml"}
    assert set(workspace.paths) == (sent if around != BROKEN else {"config.yml"})


def test_folder_of_maestro_is_the_root_of_its_flows(tmp_path: Path) -> None:
    write(tmp_path, {"config.yaml": CONFIG, ".maestro/a/b.yaml": FLOW, ".maestro/c.yaml": FLOW})
    workspace = find_files([tmp_path / ".maestro" / "a" / "b.yaml"])
    assert set(workspace.paths) == {"a/b.yaml"}
    assert workspace.selected == {"a/b.yaml"}


@pytest.mark.parametrize("above", [{"config.yaml": "title: My blog\n"}, {"config.yaml": CONFIG, "repo/.git/HEAD": ""}])
def test_configurations_of_others_do_not_make_a_root(tmp_path: Path, above: Mapping[str, str]) -> None:
    write(tmp_path, {**above, "repo/flows/a.yaml": FLOW, "repo/flows/b.yaml": FLOW, "repo/other.yaml": FLOW})
    workspace = find_files([tmp_path / "repo" / "flows" / "a.yaml"])
    assert set(workspace.paths) == {"a.yaml"}
    assert workspace.selected == {"a.yaml"}


def test_several_paths_select_flows_of_the_folder_around_them(tmp_path: Path) -> None:
    """Of a folder only what becomes a test is selected."""
    files = {"config.yaml": "flows: ['tests/**', '!**/parts/**']", "tests/c.yaml": FLOW}
    selected = ("tests/a/x.yaml", "tests/a/y.yaml", "tests/b.yaml")
    write(tmp_path, {**files, **dict.fromkeys((*selected, "tests/a/parts/z.yaml"), FLOW)})
    workspace = find_files([tmp_path / "tests" / "a", tmp_path / "tests" / "b.yaml"])
    assert workspace.selected == set(selected)
    assert len(workspace.paths) == 6


def test_paths_that_are_not_flows_are_refused(tmp_path: Path) -> None:
    write(tmp_path, {"config.yaml": CONFIG, "a.yaml": FLOW, "s.js": "1", ".b.yaml": FLOW, "empty/x.txt": ""})
    assert refusal(tmp_path / "none").message.endswith("none: there is no such file or folder")
    assert refusal(tmp_path / "s.js").message.endswith("s.js: is not a flow: name the flow that runs it")
    assert "config.yaml: is not a flow" in refusal(tmp_path / "config.yaml").message
    assert ".b.yaml does not come along: hidden files are not sent" in refusal(tmp_path / ".b.yaml").message
    assert "empty: the folder contains no flow" in refusal(tmp_path / "empty", tmp_path / "a.yaml").message


def imported(workspace: Workspace, folder: Path) -> dict[str, list[str]]:
    """The messages about each flow that the server makes of the files as they are sent."""
    archive = folder / "sent.zip"
    archive.write_bytes(workspace.archive)
    contents = read_workspace(str(archive))
    return {path: [problem[3] for problem in problems] for path, _, _, _, _, problems, _ in contents["flows"]}


def test_flow_in_a_folder_below_is_run_alone(tmp_path: Path) -> None:
    """It has the path of its workspace although nothing else is sent, and no flow lies at the top."""
    write(tmp_path, {".maestro/flows/home.yaml": FLOW, ".maestro/other.yaml": "- nope"})
    workspace = find_files([tmp_path / ".maestro" / "flows" / "home.yaml"])
    assert imported(workspace, tmp_path) == {"flows/home.yaml": []}


@pytest.mark.parametrize("named", ["e2e/flows", "e2e/flows/home.yaml"])
def test_files_beside_the_folder_come_along_when_a_flow_names_them(tmp_path: Path, named: str) -> None:
    flow = "- runFlow: ../shared/start.yaml\n- addMedia: [../media/cat.png]\n- runScript: ../../lib/s.mjs\n"
    files = {"e2e/flows/home.yaml": flow, "e2e/shared/start.yaml": FLOW, "lib/s.mjs": "1", "e2e/media/cat.png": PNG}
    write(tmp_path, {**files, "e2e/shared/unused.yaml": FLOW, ".git/HEAD": ""})
    workspace = find_files([tmp_path / named])
    assert set(packed(workspace)) == {".mobiletest.json", *files}
    assert imported(workspace, tmp_path) == {"home.yaml": []}
    assert read_file(str(tmp_path / "sent.zip"), "../media/cat.png") == PNG
    assert workspace.display_path("../shared/start.yaml") == (tmp_path / "e2e/shared/start.yaml").as_posix()


def test_files_beside_the_folder_that_no_flow_uses_are_not_sent(tmp_path: Path) -> None:
    """Neither hidden ones, nor those outside of the repository, which without one is the folder above."""
    named = {
        "../.env.yaml": "hidden files are not sent",
        "../.secret/a.yaml": "hidden files are not sent",
        "../../far.yaml": f"it lies outside of {(tmp_path / 'in').as_posix()}",
        "../key.pem": "files whose names end like this are not sent (flows end with .yaml or .yml, scripts with .js,",
        "../none.yaml": "there is no file ../none.yaml; did you mean ../nine.yaml?",
        "../link.yaml": "is a link that is not followed: it leads out of the folder",
    }
    others = ("in/.env.yaml", "in/.secret/a.yaml", "far.yaml", "in/nine.yaml", "in/key.pem")
    write(tmp_path, dict.fromkeys(others, FLOW))
    write(tmp_path, {"in/flows/a.yaml": "".join(f"- runFlow: {path}\n" for path in named)})
    (tmp_path / "in" / "link.yaml").symlink_to(tmp_path / "far.yaml")
    workspace = find_files([tmp_path / "in" / "flows" / "a.yaml"])
    problems = [problem.message for problem in validate(workspace)]
    assert [expected in problem for expected, problem in zip(named.values(), problems, strict=True)] == [True] * len(
        named
    )
    assert set(workspace.paths) == {"a.yaml"}


def test_link_to_a_folder_of_the_repository_is_followed(tmp_path: Path) -> None:
    """Of the folder behind it the flows, and what flows name."""
    flow = "- runFlow: parts/b.yaml\n- runScript: parts/s.js\n"
    write(tmp_path, {".git/HEAD": "", ".maestro/a.yaml": flow, "lib/b.yaml": FLOW, "lib/s.js": "1", "lib/t.js": "1"})
    (tmp_path / ".maestro" / "parts").symlink_to("../lib")
    (tmp_path / ".maestro" / "git").symlink_to("../.git")
    workspace = find_files([tmp_path / ".maestro"])
    assert set(workspace.paths) == {"a.yaml", "parts/b.yaml", "parts/s.js"}
    assert imported(workspace, tmp_path) == {"a.yaml": []}
    assert workspace.left_out == {"git": "is a link to something hidden"}
    assert set(find_files([tmp_path / ".maestro" / "a.yaml"]).paths) == {"a.yaml", "parts/b.yaml", "parts/s.js"}


def test_error_says_that_a_link_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path, {".maestro/a.yaml": "- runFlow: parts/b.yaml\n", "lib/b.yaml": FLOW})
    (tmp_path / ".maestro" / "parts").symlink_to("../lib")
    for named in (".maestro", ".maestro/a.yaml"):
        first = validate(find_files([tmp_path / named]))[0]
        assert (first.file, first.line, first.column) == ("a.yaml", 1, 12)
        assert f"{tmp_path.as_posix()}/.maestro/parts is a link that is not followed" in first.message


def test_error_says_that_a_link_was_checked_out_as_a_text(tmp_path: Path) -> None:
    """As git does it where core.symlinks is false."""
    write(tmp_path, {".maestro/a.yaml": "- runFlow: parts/b.yaml\n", "lib/b.yaml": FLOW, ".maestro/parts": "../lib"})
    (problem,) = validate(find_files([tmp_path / ".maestro"]))
    assert "/.maestro/parts is a file, perhaps a link that git has written as a text" in problem.message


def test_endings_of_flows_and_scripts_are_those_that_people_write(tmp_path: Path) -> None:
    flow = "- runScript: s.JS\n- runScript: s.mjs\n- runScript: s.cjs\n- runFlow: Part.YML\n"
    files = {
        "Login.YAML": flow,
        "s.JS": "1",
        "s.mjs": "1",
        "s.cjs": "1",
        "Part.YML": FLOW,
        "flow.txt": FLOW,
        "types.yaml": "- runScript: s.ts",
    }
    write(tmp_path, {**files, "s.ts": "1"})
    assert imported(find_files([tmp_path]), tmp_path)["Login.YAML"] == []
    assert imported(find_files([tmp_path / "Login.YAML"]), tmp_path) == {"Login.YAML": []}
    assert imported(find_files([tmp_path / "flow.txt"]), tmp_path) == {"flow.txt": []}
    (problem,) = validate(find_files([tmp_path / "types.yaml"]))
    assert "TypeScript is not run: compile it to JavaScript, and name s.js" in problem.message


def test_flows_of_folders_are_those_that_lie_in_them_without_a_configuration(tmp_path: Path) -> None:
    write(tmp_path, {"flows/a/x.yaml": FLOW, "flows/b/y.yaml": FLOW, "flows/b/parts/z.yaml": FLOW})
    workspace = find_files([tmp_path / "flows" / "a", tmp_path / "flows" / "b"])
    assert imported(workspace, tmp_path) == {"a/x.yaml": [], "b/y.yaml": []}


@pytest.mark.parametrize("files", [{}, {"README.md": "x"}, {"config.yaml": CONFIG, "s.js": "1"}])
def test_folder_without_a_flow_is_refused(tmp_path: Path, files: Mapping[str, str]) -> None:
    message = refusal(write(tmp_path, files)).message
    assert message == f"{tmp_path.as_posix()}: there is no flow: no file ends with .yaml or .yml"


def test_limits_are_those_of_the_server(tmp_path: Path) -> None:
    write(tmp_path, {"many/a.yaml": FLOW, "large/a.yaml": FLOW, "texts/a.yaml": FLOW})
    for number in range(FILES_LIMIT):
        (tmp_path / "many" / f"{number}.png").touch()
    for number in range(UNPACKED_BYTES // FILE_BYTES):
        grow(tmp_path / "large" / f"{number:02}.png", FILE_BYTES)
    for number in range(33):
        grow(tmp_path / "texts" / f"{number}.js", TEXT_BYTES)
    write(tmp_path, {"deep/" + "a/" * DEPTH_LIMIT + "b.yaml": FLOW})
    assert f"many: the folder has {FILES_LIMIT + 1} files; at most" in refusal(tmp_path / "many").message
    assert "large: its files have" in refusal(tmp_path / "large").message
    assert (refusal(tmp_path / "large").hint or "").startswith(f"Largest files: 00.png ({FILE_BYTES} bytes), 01.png")
    assert "texts: its flows and scripts have more than" in refusal(tmp_path / "texts").message
    assert f'b.yaml" lies more than {DEPTH_LIMIT} folders deep' in refusal(tmp_path / "deep").message


def test_archive_that_is_too_large_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": FLOW})
    for number in range(ARCHIVE_BYTES // FILE_BYTES):
        grow(tmp_path / f"{number}.png", FILE_BYTES)
    workspace = find_files([tmp_path])
    with pytest.raises(CliError, match=f"the folder has more than {ARCHIVE_BYTES} bytes"):
        _ = workspace.archive


def test_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": FLOW, "p.png": PNG})
    files, workspace = search(tmp_path), find_files([tmp_path])
    (tmp_path / "a.yaml").unlink()
    with pytest.raises(CliError, match=r"a\.yaml: cannot be read: No such file"):
        Workspace(tmp_path, files)
    write(tmp_path, {"a.yaml": FLOW})
    (tmp_path / "p.png").unlink()
    with pytest.raises(CliError, match=r"p\.png: cannot be read: No such file"):
        _ = workspace.archive


def test_accents_are_part_of_their_letters(tmp_path: Path) -> None:
    name = "žluťoučký.yaml"
    write(tmp_path, {unicodedata.normalize("NFD", name): FLOW})
    workspace = find_files([tmp_path])
    assert set(packed(workspace)) == {name}
    assert workspace.text(name) == FLOW


def test_name_in_two_spellings_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {unicodedata.normalize(form, "é.yaml"): FLOW for form in ("NFC", "NFD")})
    if len(list(tmp_path.iterdir())) == 2:  # not on file systems that normalize names
        assert "duplicate path é.yaml" in refusal(tmp_path).message


def test_name_that_is_not_in_utf8_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"a.yaml": FLOW})
    try:
        (tmp_path / os.fsdecode(b"\xff.yaml")).write_text(FLOW)
    except OSError:
        return  # a file system that has names in UTF-8 only
    assert refusal(tmp_path).message.endswith("\N{REPLACEMENT CHARACTER}.yaml: its name is not in UTF-8: rename it")
