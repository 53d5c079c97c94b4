"""Archives of workspaces are read within limits, in children."""

import io
import json
import os
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from mobiletest_automation.app_files.archive_limits import HostileArchive
from mobiletest_automation.flows.workspace import FoundWorkspace
from mobiletest_automation.flows.workspace_files import FILES_LIMIT, PATH_LIMIT, TEXT_BYTES
from mobiletest_automation.flows.workspace_media import FILE_BYTES, MediaFile
from services.catalog.model.values import InvalidValue
from services.catalog.workspace_reader import LIMITS, ChildWorkspaceReader, answer, open_archive, parse_answer
from tests.fakes.workspaces import FLOW, PNG, zip_files

Read = Callable[[bytes], FoundWorkspace]


def save(folder: Path, content: bytes) -> Path:
    path = folder / "w.zip"
    path.write_bytes(content)
    return path


def refusal(folder: Path, content: bytes) -> str:
    with pytest.raises(HostileArchive) as refused, open_archive(str(save(folder, content))):
        pass
    return str(refused.value)


def zip_entry(entry: zipfile.ZipInfo, content: str = FLOW) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(entry, content)
    return archive.getvalue()


def link(path: str, target: str) -> bytes:
    entry = zipfile.ZipInfo(path)
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zip_entry(entry, target)


async def test_a_child_reads_what_this_process_would(tmp_path: Path) -> None:
    content = zip_files(
        {"w/config.yaml": "flows: '**'", "w/a/x.yaml": FLOW, "w/a/y.yaml": "- tapOnn: x", "w/p.png": b"\xff"}
    )
    path = save(tmp_path, content)
    workspace = await ChildWorkspaceReader().read(path)
    assert workspace == parse_answer(answer(os.fsencode(path)))
    assert [(flow.path, bool(flow.problems)) for flow in workspace.flows] == [("a/x.yaml", False), ("a/y.yaml", True)]


async def test_a_child_finds_the_sentences_that_no_rule_parses(tmp_path: Path) -> None:
    path = save(tmp_path, zip_files({"a.yaml": "- Go back\n- Make it nice\n", "b.yaml": "- Be kind\n"}))
    workspace = await ChildWorkspaceReader().read(path, sentences=True)
    assert [(each.file, each.line, each.column) for each in workspace.unparsed] == [("a.yaml", 2, 3), ("b.yaml", 1, 3)]
    assert not (await ChildWorkspaceReader().read(path)).unparsed


async def test_a_child_reads_the_pictures_that_flows_need(tmp_path: Path) -> None:
    files = {"w/a.yaml": "- addMedia: [p/cat.png]\n", "w/p/cat.png": PNG, "w/p/dog.png": PNG + b"!"}
    path, reader = save(tmp_path, zip_files(files)), ChildWorkspaceReader()
    (flow,) = (await reader.read(path)).flows
    assert flow.files == (MediaFile("p/cat.png", sha256(PNG).hexdigest(), len(PNG)),)
    assert await reader.read_file(path, "p/cat.png") == PNG


async def test_largest_picture_fits_into_the_answer_of_a_child(tmp_path: Path) -> None:
    path = save(tmp_path, zip_files({"a.yaml": FLOW, "p.png": PNG.ljust(FILE_BYTES)}))
    content = await ChildWorkspaceReader().read_file(path, "p.png")
    assert len(content) == FILE_BYTES


def test_picture_that_is_damaged_refuses_the_archive(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        packed.writestr("a.yaml", "- addMedia: [p.png]\n")
        packed.writestr("p.png", PNG)
    damaged = archive.getvalue().replace(PNG, PNG[:-1] + b"!", 1)
    error = json.loads(answer(os.fsencode(save(tmp_path, damaged))))
    assert "not a readable zip archive: Bad CRC-32" in error["message"]


async def test_what_takes_too_much_is_invalid(tmp_path: Path) -> None:
    flow = "".join(f"- inputText: {'${(((a)))}' * 900}\n" for _ in range(25))
    path = save(tmp_path, zip_files({f"{number}.yaml": flow for number in range(20)}))
    with pytest.raises(InvalidValue) as error:
        await ChildWorkspaceReader(replace(LIMITS, cpu_seconds=0.05)).read(path)
    assert "more than 0.05 s of CPU; import it in parts" in error.value.message


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("../a.yaml", "leads out of the folder"),
        ("a/../../b.yaml", "leads out of the folder"),
        ("..\\a.yaml", "leads out of the folder"),
        ("/etc/a.yaml", "leads out of the folder"),
        ("C:/a.yaml", "leads out of the folder"),
        ("a//b.yaml", "is not a plain path"),
        ("a\n.yaml", "has control characters"),
        ("x" * PATH_LIMIT + ".yaml", "is not a plain path"),
        ("a/" * 20 + "b.yaml", "lies more than 20 folders deep"),
    ],
)
def test_paths_that_are_not_plain_are_refused(tmp_path: Path, path: str, message: str) -> None:
    assert message in refusal(tmp_path, zip_files({"ok.yaml": FLOW, path: FLOW}))


def test_links_are_refused(tmp_path: Path) -> None:
    assert '"a.yaml" is a link or no file' in refusal(tmp_path, link("a.yaml", "/etc/passwd"))


@pytest.mark.parametrize("count", [FILES_LIMIT + 1, 5_000])
def test_too_many_files_are_refused_with_their_number(tmp_path: Path, count: int) -> None:
    message = refusal(tmp_path, zip_files(dict.fromkeys((f"{number}.png" for number in range(count)), b"")))
    assert message.startswith(f"the folder has {count} files; at most {FILES_LIMIT} are taken")


def declare(size: int) -> bytes:
    """An archive whose headers say that its flow has so many bytes."""
    flow = FLOW * 100
    content, actual = zip_files({"a.yaml": flow}), len(flow).to_bytes(4, "little")
    assert content.count(actual) == 2
    return content.replace(actual, size.to_bytes(4, "little"))


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (230 * 1024**2, "its entries unpack to 241172480 bytes"),
        (300 * 1024**2, "its files have 314572800 bytes; at most 268435456 are taken"),
        (5, "not a readable zip archive"),
    ],
)
def test_bombs_and_false_sizes_are_refused(tmp_path: Path, size: int, message: str) -> None:
    assert message in refusal(tmp_path, declare(size))


@pytest.mark.parametrize(
    "content",
    [b"", b"PK", b"no archive", zip_files({"a.yaml": FLOW})[:-30]],
    ids=["nothing", "two letters", "words", "a cut archive"],
)
def test_a_file_that_is_not_an_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "not a readable zip archive" in refusal(tmp_path, content)


def test_encrypted_and_unusual_entries_are_refused(tmp_path: Path) -> None:
    entry = zipfile.ZipInfo("a.yaml")
    entry.compress_type = zipfile.ZIP_BZIP2
    assert "send a plain zip archive" in refusal(tmp_path, zip_entry(entry))
    content = bytearray(zip_files({"a.yaml": FLOW}))
    content[content.index(b"PK\x01\x02") + 8] |= 1
    assert "is encrypted" in refusal(tmp_path, bytes(content))


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_paths_are_unique(tmp_path: Path) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("a.yaml", FLOW)
        packed.writestr("./a.yaml", FLOW)
    assert 'duplicate file "a.yaml"' in refusal(tmp_path, archive.getvalue())


def read(folder: Path, files: Mapping[str, str | bytes]) -> dict[str, str]:
    with open_archive(str(save(folder, zip_files(files)))) as workspace:
        return dict(workspace.texts)


def test_what_systems_add_is_left_out(tmp_path: Path) -> None:
    files = {"w/a.yaml": FLOW, "__MACOSX/w/._a.yaml": b"\xff", "w/.DS_Store": b"", "w/.git/hooks/b.yaml": FLOW}
    assert read(tmp_path, files) == {"a.yaml": FLOW}


def test_texts_are_those_in_utf8_of_a_size(tmp_path: Path) -> None:
    files = {"a.yaml": b"\xef\xbb\xbf" + FLOW.encode(), "b.yaml": b"\xff", "c.js": "x" * (TEXT_BYTES + 1), "d.js": "1"}
    assert read(tmp_path, files) == {"a.yaml": FLOW, "d.js": "1"}


def test_names_of_other_letters(tmp_path: Path) -> None:
    content = zip_files({"žluťoučký.yaml": FLOW})
    unmarked = bytearray(content)
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        unmarked[unmarked.index(mark) + flags + 1] = 0
    apart = zip_files({unicodedata.normalize("NFD", "žluťoučký.yaml"): FLOW})
    for each in (content, bytes(unmarked), apart):
        with open_archive(str(save(tmp_path, each))) as workspace:
            assert list(workspace.texts) == ["žluťoučký.yaml"]


@pytest.mark.parametrize(("offset", "value"), [(8, 0x20), (8, 0x40), (6, 99)])
def test_archives_that_need_more_than_the_reader_can_do_are_refused(tmp_path: Path, offset: int, value: int) -> None:
    content = bytearray(zip_files({"a.yaml": FLOW}))
    content[content.find(b"PK\x01\x02") + offset] |= value
    assert "not a readable zip archive" in refusal(tmp_path, bytes(content))
