"""Ids, paths and names of files that a server gives."""

from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mobiletest_cli.api import Api
from mobiletest_cli.configuration import Server
from mobiletest_cli.download import download_artifacts, download_to
from mobiletest_cli.errors import UNREACHABLE, USAGE, CliError
from mobiletest_cli.flow_files import write_flows
from mobiletest_cli.names import check_path, file_name, is_id
from tests.hostile_texts import TEXTS, controls
from tests.unit.cli.report_samples import EXECUTION, passed

OUTSIDE = (
    "..",
    ".",
    "../evil",
    "../../evil",
    "/tmp/evil",
    "a/../../evil",
    "..\\..\\evil",
    "C:\\evil",
    "C:evil",
    "\\\\host\\share\\evil",
    "evil\x00.png",
    "~/.ssh/authorized_keys",
    ".bashrc",
    ".git/config",
    "git~1/hooks/pre-commit",
    "\u200c.git/config",
    "CON",
    "nul.txt",
    "com1.png",
    "evil. .",
    "",
    " ",
    "invoice\u202egnp.exe",
    "x" * 5000,
    "\ud800",
)


def api(answer: httpx.Response) -> Api:
    return Api(Server("http://10.0.0.7", "mt_key"), patience=0, transport=httpx.MockTransport(lambda _: answer))


def written(folder: Path) -> list[Path]:
    """The files below the folder, relative to it."""
    return [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]


def is_plain(name: str) -> bool:
    """Whether it is one visible file in its folder, here and on Windows."""
    device = name.partition(".")[0].rstrip().upper() in {"CON", "PRN", "AUX", "NUL", "COM1", "LPT9"}
    is_short = 0 < len(name.encode()) <= 255
    return is_short and not (device or set('<>:"/\\|?*\x00') & set(name) or name[0] in ". " or name[-1] in ". ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("attempt-1-step-003-größe.png", "attempt-1-step-003-größe.png"),
        ("Pay (2).tar.gz", "Pay (2).tar.gz"),
        ("../evil.sh", "_evil.sh"),
        (".bashrc", "bashrc"),
        ("nul.txt", "_nul.txt"),
        ("console.log", "console.log"),
        ("C:\\a\x00b", "C__a_b"),
        ("..", "other"),
        ("x" * 300 + ".png", "x" * 200 + ".png"),
        ("git~1", "_git~1"),
        ("\u200c.git", "git"),
        ("👨\u200d👩.png", "👨\u200d👩.png"),
    ],
)
def test_a_name_of_a_file_stays_what_it_is_or_becomes_one(text: str, expected: str) -> None:
    assert file_name(text, "other") == expected


@given(TEXTS | st.sampled_from(OUTSIDE) | st.text(max_size=300))
def test_any_text_becomes_a_plain_name(text: str) -> None:
    name = file_name(text, "other")
    assert is_plain(name)
    assert not controls(name)
    assert file_name(name, "other") == name


@pytest.mark.parametrize(
    "text", ["", "..", "5d1c0a52", f"{EXECUTION}/..", f"{EXECUTION}\n", "٥" * 8 + EXECUTION[8:], 7, None]
)
def test_an_id_is_a_uuid(text: object) -> None:
    assert is_id(EXECUTION)
    assert not is_id(text)


@pytest.mark.parametrize("part", ["", ".", "..", "a/../b", "a?b=c", "a#b", "a\\b", "%2e%2e", "a b", "a\n", "\x7f"])
def test_an_invalid_part_of_a_path_is_not_requested(part: str) -> None:
    for path in (f"tests/{part}", f"tests/{part}/runs"):
        with pytest.raises(CliError, match="is not a path of the API") as refused:
            api(httpx.Response(200, json={})).get(path)
        assert refused.value.exit_code == USAGE
        with pytest.raises(CliError, match="is not a path"), api(httpx.Response(200)).stream(path):
            pass
    assert check_path("secrets/SHOP.key-1") == "secrets/SHOP.key-1"
    assert check_path("executions/7/runs/8/artifacts/größe.png")


@pytest.mark.parametrize("name", OUTSIDE)
def test_artifacts_are_written_into_the_folder_of_the_run(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "a" / "out"
    artifacts = [{"name": name, "url": "x", "kind": "log"}, {"name": "log.txt", "url": "x", "kind": "log"}]
    run: Any = passed(id=EXECUTION, execution_id=EXECUTION, attempts=[{"artifacts": artifacts[1:]}])
    list(download_artifacts(api(httpx.Response(200, content=b"x")), run, folder))
    assert written(tmp_path) == [Path("a/out", EXECUTION, name) for name in ("log.txt", "report.html")]
    run["attempts"][0]["artifacts"] = artifacts[:1]
    with suppress(CliError):
        list(download_artifacts(api(httpx.Response(200, content=b"x")), run, folder))
    assert all(path.parts[:3] == ("a", "out", EXECUTION) and is_plain(path.parts[3]) for path in written(tmp_path))


def test_artifacts_that_are_one_file_on_some_system_are_all_kept(tmp_path: Path) -> None:
    names = ["Shot.png", "shot.png", "a/b", "a:b", "gro\u0308\u00dfe.png", "gr\u00f6SSE.png"]
    artifacts = [{"name": name, "url": "x"} for name in names]
    run: Any = passed(id=EXECUTION, execution_id=EXECUTION, attempts=[{"artifacts": artifacts}])
    with suppress(CliError):
        list(download_artifacts(api(httpx.Response(200, content=b"x")), run, tmp_path))
    assert len({str(path).casefold() for path in written(tmp_path)}) == len(written(tmp_path)) == len(names) + 1


def test_a_server_that_makes_no_reports_gives_the_artifacts(tmp_path: Path) -> None:
    run: Any = passed(id=EXECUTION, execution_id=EXECUTION, attempts=[{"artifacts": [{"name": "log.txt", "url": "x"}]}])

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(404) if request.url.path.endswith("report.html") else httpx.Response(200, content=b"x")

    old = Api(Server("http://10.0.0.7", "mt_key"), patience=0, transport=httpx.MockTransport(answer))
    assert [path.name for path in download_artifacts(old, run, tmp_path)] == ["log.txt"]


def test_a_download_is_not_written_through_a_link_that_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "app.apk").symlink_to("../outside.apk")
    monkeypatch.chdir(tmp_path / "here")
    headers = {"Content-Disposition": 'attachment; filename="app.apk"'}
    with pytest.raises(CliError, match="exists already"):
        download_to(api(httpx.Response(200, content=b"x", headers=headers)), "apps/builds/1/download")
    assert written(tmp_path) == []


def test_no_flow_is_written_over_another(tmp_path: Path) -> None:
    """As on systems on which names in another case are the same file."""
    (tmp_path / "pay.yaml").symlink_to("Pay.yaml")
    tests = [
        {"id": each, "name": each, "source_path": each, "steps": [], "tags": []} for each in ("Pay.yaml", "pay.yaml")
    ]
    with pytest.raises(CliError, match="is the same file as"):
        write_flows(tmp_path, cast("Any", tests), force=True)
    assert "name: Pay.yaml" in (tmp_path / "Pay.yaml").read_text()


@pytest.mark.parametrize("name", ["..", "../..", "/tmp", "", "C:\\x", "evil\x00"])
def test_a_run_without_an_id_has_no_folder(tmp_path: Path, name: str) -> None:
    run: Any = passed(id=name, execution_id=EXECUTION, attempts=[{"artifacts": [{"name": "log.txt", "url": "x"}]}])
    with pytest.raises(CliError, match="which is not an id") as refused:
        list(download_artifacts(api(httpx.Response(200, content=b"x")), run, tmp_path / "a" / "out"))
    assert refused.value.exit_code == UNREACHABLE
    assert written(tmp_path) == []


@pytest.mark.parametrize("name", [name for name in OUTSIDE if name.isascii() and name.isprintable()])
def test_a_download_is_one_file_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    download_to(api(httpx.Response(200, content=b"x", headers=headers)), "apps/builds/1/download")
    ((parent, *_, file),) = [path.parts for path in written(tmp_path)]
    assert (parent, written(tmp_path)) == ("a", [Path("a/b", file)])
    assert is_plain(file)


@pytest.mark.parametrize("field", ["source_path", "name"])
@pytest.mark.parametrize("text", OUTSIDE)
def test_flows_are_written_into_the_folder(tmp_path: Path, field: str, text: str) -> None:
    folder = tmp_path / "a" / "flows"
    test = {"id": text, "name": "Pay", "source_path": None, "steps": ["launchApp"], "tags": [], field: text}
    test["name"] = test["name"].encode(errors="replace").decode()
    write_flows(folder, [cast("Any", test), cast("Any", test)])
    paths = written(tmp_path)
    assert len(paths) in (1, 2)
    assert all(path.parts[:2] == ("a", "flows") and all(map(is_plain, path.parts[2:])) for path in paths)


def test_a_flow_keeps_its_path(tmp_path: Path) -> None:
    paths = ["pay/card (1).yaml", ".maestro/log-in.yml", "größe"]
    tests = [{"id": "1", "name": "a", "source_path": path, "steps": [], "tags": []} for path in paths]
    write_flows(tmp_path, cast("Any", tests))
    assert sorted(map(str, written(tmp_path))) == sorted(paths)


@pytest.mark.parametrize(
    ("link", "leads_to", "is_repository", "is_written"),
    [
        ("pay.yaml", "../../outside.yaml", False, False),
        ("pay.yaml", "../../outside.yaml", True, False),
        ("pay.yaml", "../.git/hooks/pre-commit", True, False),
        ("pay.yaml", "../shared/pay.yaml", False, False),
        ("pay.yaml", "../shared/pay.yaml", True, True),
        ("pay.yaml", "pay.yaml", True, True),
        ("pay", "../..", True, False),
        ("pay", "../shared", True, True),
    ],
)
def test_flows_are_not_written_through_links_that_lead_elsewhere(
    tmp_path: Path, link: str, leads_to: str, *, is_repository: bool, is_written: bool
) -> None:
    folder = tmp_path / "project" / "flows"
    folder.mkdir(parents=True)
    (tmp_path / "project" / "shared").mkdir()
    if is_repository:
        (tmp_path / "project" / ".git" / "hooks").mkdir(parents=True)
    (folder / link).symlink_to(leads_to)
    path = link if link.endswith(".yaml") else f"{link}/card.yaml"
    tests = [
        {"id": EXECUTION, "name": "Pay", "source_path": each, "steps": [], "tags": []} for each in ("a.yaml", path)
    ]
    with nullcontext() if is_written else pytest.raises(CliError, match="a link leads to"):
        write_flows(folder, cast("Any", tests), force=True)
    assert (folder / "a.yaml").exists() == is_written


@pytest.mark.parametrize("answer", [{}, {"id": None}, {"id": "../x"}, {"id": f"{EXECUTION}\nPATH=/tmp"}])
def test_an_answer_to_a_start_without_an_id_is_refused(answer: Any) -> None:
    """The id becomes an output of the step in CI."""
    with pytest.raises(CliError, match="does not answer like a mobiletest server"):
        api(httpx.Response(200, json=answer)).start("executions", {}, key="1")
