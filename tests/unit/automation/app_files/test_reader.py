"""What app files say of themselves, what no device installs, and the limits that keep zip bombs out."""

import io
import plistlib
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from mobiletest_automation.app_files.archive_limits import MAX_ENTRIES, MAX_MANIFEST_BYTES, HostileArchive
from mobiletest_automation.app_files.reader import (
    AppFile,
    NotInstallable,
    UnreadableAppFile,
    is_known_kind,
    read_app_file,
)
from tests.fakes.artifacts import Named, apk, archive, ipa, manifest, resources

PACKAGE = "com.example.shop"
NAME, SPLITS_REQUIRED, SPLIT_TYPES = 0x0101021C, 0x01010591, 0x0101064E
VERSION_CODE = Named("", (0x10, 42), 0x0101021B)


def read(folder: Path, content: bytes) -> AppFile:
    """What is read from a file with this content."""
    path = folder / "artifact"
    path.write_bytes(content)
    return read_app_file(path)


def apk_of(*attributes: Named, table: bytes | None = None, package: str = PACKAGE) -> bytes:
    """An APK with these attributes besides the package, and with these resources."""
    files = {"AndroidManifest.xml": manifest(package, None, *attributes)}
    return archive(files | ({"resources.arsc": table} if table is not None else {}))


def ios_app(path: str, version: str = "3.0") -> Mapping[str, bytes]:
    """The files of an app whose folder has this path."""
    with zipfile.ZipFile(io.BytesIO(ipa(PACKAGE, version))) as made:
        return {f"{path}/Info.plist": made.read("Payload/Shop.app/Info.plist"), f"{path}/Shop": b"code"}


def made_for(platform: str) -> bytes:
    """An Info.plist of an app for this platform."""
    return plistlib.dumps({"CFBundleIdentifier": PACKAGE, "CFBundleSupportedPlatforms": [platform]})


def packed(files: Mapping[str, bytes]) -> bytes:
    """A .tar.gz with these files."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as made:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            made.addfile(entry, io.BytesIO(content))
    return file.getvalue()


def encrypted(content: bytes) -> bytes:
    """An archive whose entries claim to be encrypted."""
    changed = bytearray(content)
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = changed.find(mark)
        while place >= 0:
            changed[place + offset] |= 1
            place = changed.find(mark, place + 1)
    return bytes(changed)


def disguised(compression: int, first: bytes = b"") -> bytes:
    """An APK of version 5 that says something else of its manifest, in its directory or in the first bytes."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        content = manifest(PACKAGE, "5")
        made.writestr("AndroidManifest.xml", first + content[len(first) :])
        made.infolist()[0].compress_type = compression
    return file.getvalue()


def version_by(reference: int, table: bytes) -> bytes:
    """An APK whose version is a reference to a resource."""
    return apk_of(Named("versionName", (0x01, reference), NAME), table=table)


ANDROID: dict[str, tuple[bytes, str | None]] = {
    "a text": (apk(PACKAGE, "2.1.0"), "2.1.0"),
    "no version": (apk(PACKAGE, None), None),
    "blanks": (apk(PACKAGE, "  "), None),
    "too long": (apk(PACKAGE, "v" * 201), None),
    "other scripts": (apk(PACKAGE, "1 \u03b2"), "1 \u03b2"),
    "names that are blanked, known by resource id": (apk_of(VERSION_CODE, Named("", "3.0", NAME)), "3.0"),
    "names that are exchanged": (apk_of(Named("label", "3.0", NAME), Named("versionName", "9", 0x01010001)), "3.0"),
    "a name in another namespace": (
        apk_of(Named("versionName", "9", namespace="http://schemas.android.com/tools")),
        None,
    ),
    "a name without a namespace": (apk_of(Named("versionName", "9", namespace="")), None),
    "a whole number": (apk_of(Named("versionName", (0x10, 7), NAME)), "7"),
    "a hexadecimal number": (apk_of(Named("versionName", (0x11, 16), NAME)), "16"),
    "a fraction": (apk_of(Named("versionName", (0x04, 0x40466666), NAME)), "3.1"),
    "a fraction as it was written": (apk_of(Named("versionName", (0x04, 0x40466666), NAME, written="3.10")), "3.10"),
    "a reference": (version_by(0x7F010001, resources(None, "4.5")), "4.5"),
    "a reference to a reference": (version_by(0x7F010000, resources((0x01, 0x7F010002), None, "4.6")), "4.6"),
    "a reference in a sparse table": (version_by(0x7F010300, resources(*[None] * 0x300, "4.7", sparse=True)), "4.7"),
    "a reference to a long text": (version_by(0x7F010000, resources("v" * 150)), "v" * 150),
    "a reference in one language only": (version_by(0x7F010000, resources("4.8", language="de")), "4.8"),
    "a reference to a number": (version_by(0x7F010000, resources((0x10, 12))), "12"),
    "a reference to itself": (version_by(0x7F010000, resources((0x01, 0x7F010000))), None),
    "a reference to nothing": (version_by(0x7F010009, resources("4.5")), None),
    "a reference without resources": (apk_of(Named("versionName", (0x01, 0x7F010000), NAME)), None),
    "a reference in a broken table": (version_by(0x7F010000, resources("4.5")[:60]), None),
    "a manifest that is called encrypted": (encrypted(apk(PACKAGE, "5")), "5"),
    "a manifest of unknown compression": (disguised(0x5E3), "5"),
    "a manifest with another first number": (disguised(zipfile.ZIP_STORED, b"\0\0"), "5"),
    "no splits": (apk_of(Named("versionName", "5", NAME), Named("", "", SPLIT_TYPES)), "5"),
}


@pytest.mark.parametrize("name", ANDROID)
def test_the_version_of_an_apk(tmp_path: Path, name: str) -> None:
    content, version = ANDROID[name]
    assert read(tmp_path, content) == AppFile("Android", PACKAGE, version)


IOS: dict[str, bytes] = {
    "an IPA": ipa(PACKAGE, "3.0", build="77"),
    "only a build number": ipa(PACKAGE, None, build="3.0"),
    "a version that was not filled in": ipa(PACKAGE, "$(MARKETING_VERSION)", build="3.0"),
    "a version that cannot be seen": ipa(PACKAGE, "\u200b\u2060", build="3.0"),
    "a zipped app": archive(ios_app("Shop.app")),
    "./Payload": archive(ios_app("./Payload/Shop.app")),
    "an app with others in it": archive(
        {
            **ios_app("Payload/Shop.app/Watch/Wrist.app", "1"),
            **ios_app("Payload/Shop.app"),
            "__MACOSX/x.app/Info.plist": b"",
        }
    ),
    "a folder of products": archive(
        {**ios_app("Build/Products/Debug/Shop.app"), **ios_app("Build/Products/Debug/ShopTests-Runner.app", "1")}
    ),
    "an archive of Xcode": archive(
        {**ios_app("Shop.xcarchive/Products/Applications/Shop.app"), "Shop.xcarchive/Info.plist": b""}
    ),
    "a .tar.gz": packed({"notes.txt": b"", **ios_app("./Shop.app")}),
}


@pytest.mark.parametrize("name", IOS)
def test_the_version_of_an_ios_app(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, IOS[name]) == AppFile("iOS", PACKAGE, "3.0")


NOT_INSTALLABLE: dict[str, tuple[bytes, str]] = {
    "bundle": (archive({"BundleConfig.pb": b"", "base/manifest/AndroidManifest.xml": b""}), "bundletool build-apks"),
    "bundle of a feature": (archive({"pay/manifest/AndroidManifest.xml": b""}), "app bundle"),
    "apks": (archive({"toc.pb": b"", "splits/base-master.apk": b""}), "a set of split APKs"),
    "apks with a universal one": (archive({"toc.pb": b"", "universal.apk": b""}), "unpack it, and send universal.apk"),
    "xapk": (archive({"manifest.json": b"{}", "com.example.shop.apk": b""}), "a set of split APKs"),
    "apkm": (archive({"info.json": b"{}", "base.apk": b"", "split_config.de.apk": b""}), "a set of split APKs"),
    "a zipped APK": (archive({"outputs/app-debug.apk": b""}), "unpack it, and send app-debug.apk"),
    "a zipped IPA": (archive({"Shop.IPA": b""}), "unpack it, and send Shop.IPA"),
    "a split": (apk_of(Named("split", "config.arm64_v8a", namespace="")), "one APK of a set"),
    "the base of splits": (apk_of(Named("", (0x12, 1), SPLITS_REQUIRED)), "one APK of a set"),
    "the base of splits by type": (apk_of(Named("", "base__abi", SPLIT_TYPES)), "one APK of a set"),
    "library": (archive({"AndroidManifest.xml": b"<manifest/>", "classes.jar": b""}), "an Android library"),
    "a macOS app": (archive({"Shop.app/Contents/Info.plist": b""}), "a macOS app"),
    "an APK in a .tar.gz": (packed({"build/app.apk": b""}), "unpack it, and send app.apk"),
    "an app of a watch": (archive({"Wrist.app/Info.plist": made_for("WatchSimulator")}), "an app for watchOS"),
    "an app of a television": (packed({"Shop.app/Info.plist": made_for("AppleTVOS")}), "an app for tvOS"),
    "a pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0f\nsize 9\n", "git lfs pull"),
}


@pytest.mark.parametrize("name", NOT_INSTALLABLE)
def test_what_no_device_installs_says_what_to_send(tmp_path: Path, name: str) -> None:
    content, advice = NOT_INSTALLABLE[name]
    with pytest.raises(NotInstallable, match=advice):
        read(tmp_path, content)
    assert is_known_kind(tmp_path / "artifact")


UNREADABLE: list[tuple[bytes, str]] = [
    (b"PK", "not a readable zip"),
    (apk()[:-30], "not a readable zip"),
    (archive({"readme.txt": b"hello"}), "neither AndroidManifest.xml nor"),
    (archive({"Shop.app.dSYM/Contents/Info.plist": b""}), "neither AndroidManifest.xml nor"),
    (archive({**ios_app("A.app"), **ios_app("B.app")}), r"2 apps \(A.app, B.app\): send an archive with one"),
    (archive({"Shop.app/Info.plist": b"["}), "Info.plist cannot be read"),
    (archive({"Shop.app/Info.plist": b"<plist><array/></plist>"}), "not a dictionary"),
    (archive({"AndroidManifest.xml": b"<manifest package='x'/>"}), "not a binary XML file"),
    (archive({"AndroidManifest.xml": b""}), "not a binary XML file"),
    (archive({"AndroidManifest.xml": manifest(PACKAGE, "1")[:200]}), "cannot be read: it (is cut off|has no element)"),
    (archive({"AndroidManifest.xml": manifest(PACKAGE, "1", element="resources")}), "is not a manifest"),
    (packed({"readme.txt": b""}), "no \\*.app/Info.plist"),
    (packed(ios_app("A.app"))[:60], "not a readable .tar.gz"),
]


@pytest.mark.parametrize(
    ("content", "problem"), UNREADABLE, ids=[f"{n} {problem}" for n, (_, problem) in enumerate(UNREADABLE)]
)
def test_an_unreadable_file_says_why(tmp_path: Path, content: bytes, problem: str) -> None:
    with pytest.raises(UnreadableAppFile, match=problem):
        read(tmp_path, content)


def test_a_manifest_that_is_cut_or_changed_anywhere_ends_in_an_error_of_ours(tmp_path: Path) -> None:
    """Nothing else may be raised, since the command line reads files in its own process."""
    content = manifest(PACKAGE, "1", Named("", "3.0", NAME))
    for place in range(len(content)):
        for changed in (content[:place], content[:place] + b"\xff" + content[place + 1 :]):
            with suppress(UnreadableAppFile, NotInstallable):
                read(tmp_path, archive({"AndroidManifest.xml": changed}))


def linked() -> bytes:
    """An APK whose manifest is a symbolic link."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        entry = zipfile.ZipInfo("AndroidManifest.xml")
        entry.external_attr = 0o120777 << 16
        made.writestr(entry, "/etc/passwd")
    return file.getvalue()


def overlapping() -> bytes:
    """Two directory entries for the same compressed bytes."""
    content = bytearray(archive({"a": b"x" * 1000, "b": b"x" * 1000}))
    second = content.rfind(b"PK\x01\x02")
    content[second + 42 : second + 46] = struct.pack("<I", 0)
    return bytes(content)


def swelling() -> bytes:
    """An entry that says it unpacks to a gigabyte."""
    content = bytearray(archive({"zeros": b"\x00" * 1000}))
    entry = content.rfind(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", 2**30)
    return bytes(content)


def repeated(count: int) -> bytes:
    """A directory that names one entry so many times; its end record's 16 bits cannot say how many."""
    content = archive({"a": b""})
    entry, end = content.rfind(b"PK\x01\x02"), content.rfind(b"PK\x05\x06")
    directory = content[entry:end] * count
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count % 65_536, count % 65_536, len(directory), entry, 0)
    return content[:entry] + directory + last


def declaring(count: int, size: int) -> bytes:
    """A 64-bit end record that declares a directory of this many entries and bytes."""
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, 0)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 2, 1)
    return b"PK" + record + locator + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0, 0, 0)


def too_big(name: str) -> bytes:
    """A manifest that unpacks to more than 4 MiB."""
    return archive({name: b"\x00" * (MAX_MANIFEST_BYTES + 1)})


HOSTILE: dict[str, Callable[[], bytes]] = {
    "names that lead out": lambda: archive({"../../etc/passwd": b"", "AndroidManifest.xml": manifest("a.b", "1")}),
    "absolute names": lambda: archive({"/etc/passwd": b""}),
    "backslashes": lambda: archive({"a\\..\\..\\b": b""}),
    "ratio": swelling,
    "manifest size": lambda: too_big("AndroidManifest.xml"),
    "plist size": lambda: too_big("Payload/A.app/Info.plist"),
    "overlap": overlapping,
    "entries, without saying so": lambda: repeated(MAX_ENTRIES + 1),
    "declared entries": lambda: declaring(10**6, 100),
    "declared size of the directory": lambda: declaring(10, 2**40),
    "encryption": lambda: encrypted(ipa()),
    "symbolic link": linked,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_archive_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(HostileArchive, match=r"^its? "):
        read(tmp_path, HOSTILE[name]())
