"""Reads what an app file is: platform, package name and version; or why no device can install it."""

import plistlib
import re
import tarfile
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mobiletest_automation.app_files.android_binary import Attribute, UnreadableBinary, find_text, read_root
from mobiletest_automation.app_files.archive_limits import (
    MAX_ENTRIES,
    MAX_RATIO,
    MAX_TOTAL_BYTES,
    MIB,
    HostileArchive,
    check_directory,
    check_entries,
    read_entry,
)
from mobiletest_automation.flows.labels import has_controls, has_visible

ANDROID, IOS = "Android", "iOS"

_ZIP_MAGIC, _GZIP_MAGIC, _LFS_MAGIC = b"PK", b"\x1f\x8b", b"version https://git-lfs.github.com/spec/"
_MANIFEST, _RESOURCES = "AndroidManifest.xml", "resources.arsc"
_APP_ENDINGS = (".apk", ".ipa", ".aab")
_OTHER_PLATFORMS = {"watch": "watchOS", "appletv": "tvOS", "xr": "visionOS", "macos": "macOS"}
_MAX_RESOURCES = 32 * MIB
_PLIST = re.compile(r"(?P<folders>(?:[^/]+/)*)(?P<app>[^/]+\.app)/Info\.plist")
_NAMESPACE = "http://schemas.android.com/apk/res/android"
_VERSION_NAME, _SPLITS_REQUIRED, _REQUIRED_SPLITS = 0x0101021C, 0x01010591, 0x0101064E
_TEXT_LIMIT = 200
_SHOWN_APPS = 5

_BUNDLE = (
    "an Android app bundle, which no device installs: build an APK (./gradlew assembleDebug), or make one of the "
    "bundle (bundletool build-apks --mode=universal), and send that"
)
_SPLIT = (
    "one APK of a set of split APKs, which no device installs alone: send a universal APK "
    "(bundletool build-apks --mode=universal, or ./gradlew assembleDebug)"
)
_SET = (
    "a set of split APKs, which no device installs as it is: send a universal APK "
    "(bundletool build-apks --mode=universal)"
)
_LFS_POINTER = "a pointer of Git LFS instead of the file: fetch this with git lfs pull, and send it"


@dataclass(frozen=True, slots=True)
class AppFile:
    """What an app file says of itself, None where it says nothing. `platform` is "Android" or "iOS"."""

    platform: str | None = None
    package_name: str | None = None
    version: str | None = None


class UnreadableAppFile(Exception):
    """A file whose manifest cannot be read; the message says why."""


class NotInstallable(Exception):
    """A file of a known kind that no phone installs as an app; the message says what it is and what to send instead."""


def is_known_kind(path: str | Path) -> bool:
    """Whether the first bytes are those of what `read_app_file` reads; those of an app model, for example, are not."""
    with open(path, "rb") as file:
        return file.read(len(_LFS_MAGIC)).startswith((_ZIP_MAGIC, _GZIP_MAGIC, _LFS_MAGIC))


def read_app_file(path: str | Path) -> AppFile:
    """What the file of a known kind at the path is.

    Raises:
        UnreadableAppFile: its content cannot be read.
        NotInstallable: no device can install it.
        HostileArchive: the archive exceeds a limit, or is made to deceive.
        OSError: the system cannot read the file.
    """
    with open(path, "rb") as file:
        start = file.read(len(_LFS_MAGIC))
        if start == _LFS_MAGIC:
            raise NotInstallable(_LFS_POINTER)
        if start.startswith(_GZIP_MAGIC):
            return _read_tar(file)
        try:
            check_directory(file)
            with zipfile.ZipFile(file) as archive:
                check_entries(archive.infolist())
                return _read_zip(archive)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as problem:
            raise UnreadableAppFile(f"it is not a readable zip archive: {problem}") from None


def _read_zip(archive: zipfile.ZipFile) -> AppFile:
    entries = {entry.filename.removeprefix("./"): entry for entry in archive.infolist()}
    if _MANIFEST in entries:
        return _apk(archive, entries)
    _refuse_sets(entries)
    if path := _find_app(entries):
        return _ios(read_entry(archive, entries[path]))
    raise UnreadableAppFile(
        "it is a ZIP archive with neither AndroidManifest.xml nor *.app/Info.plist, so it is not an app"
    )


def _refuse_sets(names: Iterable[str]) -> None:
    """Archives that hold apps, and are none. NotInstallable."""
    names = [name for name in names if not name.startswith("__MACOSX/")]
    if "BundleConfig.pb" in names or any(name.endswith(f"/manifest/{_MANIFEST}") for name in names):
        raise NotInstallable(_BUNDLE)
    inside = [name for name in names if name.lower().endswith(_APP_ENDINGS)]
    universal = next((name for name in inside if name.rpartition("/")[2] == "universal.apk"), None)
    if universal:
        raise NotInstallable(f"an archive with a universal APK in it: unpack it, and send {universal}")
    if len(inside) == 1 and not {"toc.pb", "manifest.json", "info.json"} & set(names):
        raise _packed(inside[0])
    if inside:
        raise NotInstallable(_SET)
    if any(re.fullmatch(r"(?:[^/]+/)*[^/]+\.app/Contents/Info\.plist", name) for name in names):
        raise NotInstallable("a macOS app: build the app for an iOS device or simulator, and send that")


def _packed(name: str) -> NotInstallable:
    return NotInstallable(f"an archive with an app file in it: unpack it, and send {_shown(name)}")


def _find_app(names: Iterable[str]) -> str | None:
    """The path of the Info.plist of the only app. Apps in an app (of a watch, of an extension) do not count."""
    matches = [match for name in names if (match := _PLIST.fullmatch(name)) and not _is_inner(match["folders"])]
    depth = min((match["folders"].count("/") for match in matches), default=0)
    matches = [match for match in matches if match["folders"].count("/") == depth]
    apps = [match for match in matches if not match["app"].endswith("-Runner.app")] or matches
    if len(apps) > 1:
        shown = ", ".join(_shown(match["app"]) for match in apps[:_SHOWN_APPS])
        raise UnreadableAppFile(f"it has {len(apps)} apps ({shown}): send an archive with one")
    return apps[0].string if apps else None


def _is_inner(folders: str) -> bool:
    return folders.startswith("__MACOSX/") or ".app/" in folders or ".dSYM/" in folders


def _read_tar(file: BinaryIO) -> AppFile:
    """The app of a .tar.gz, as EAS builds them for simulators: the first one in it."""
    file.seek(0, 2)
    most = min(MAX_TOTAL_BYTES, MAX_RATIO * max(file.tell(), MIB))
    file.seek(0)
    try:
        with tarfile.open(fileobj=file, mode="r|gz") as archive:
            for number, entry in enumerate(archive):
                if number >= MAX_ENTRIES or entry.offset_data + entry.size > most:
                    raise HostileArchive("it has too many entries, or they unpack to too many bytes")
                if entry.isfile() and entry.name.lower().endswith(_APP_ENDINGS) and ".app/" not in entry.name:
                    raise _packed(entry.name)
                content = archive.extractfile(entry) if _is_app_plist(entry) else None
                if content is not None:
                    return _ios(content.read(MIB))
    except (tarfile.TarError, zlib.error, OSError, EOFError) as problem:
        raise UnreadableAppFile(f"it is not a readable .tar.gz archive: {problem}") from None
    raise UnreadableAppFile("it is a .tar.gz archive that has no *.app/Info.plist, so it is not an app")


def _is_app_plist(entry: tarfile.TarInfo) -> bool:
    match = _PLIST.fullmatch(entry.name.removeprefix("./"))
    return bool(match) and entry.isfile() and entry.size <= MIB and not _is_inner(match["folders"] if match else "")


def _ios(content: bytes) -> AppFile:
    try:
        plist = plistlib.loads(content)
    except Exception as problem:  # (it raises what its parsers raise)
        raise UnreadableAppFile(f"its Info.plist cannot be read ({type(problem).__name__})") from None
    if not isinstance(plist, dict):
        raise UnreadableAppFile("its Info.plist is not a dictionary")
    platforms = plist.get("CFBundleSupportedPlatforms")
    platform = str(platforms[0] if isinstance(platforms, list) and platforms else plist.get("DTPlatformName"))
    if other := next((name for start, name in _OTHER_PLATFORMS.items() if platform.lower().startswith(start)), None):
        raise NotInstallable(f"an app for {other}: build the app for an iOS device or simulator, and send that")
    version = _text(plist.get("CFBundleShortVersionString")) or _text(plist.get("CFBundleVersion"))
    return AppFile(IOS, _text(plist.get("CFBundleIdentifier")), version)


def _apk(archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> AppFile:
    content = read_entry(archive, _as_android_reads(entries[_MANIFEST]))
    if "classes.jar" in entries:
        raise NotInstallable("an Android library (.aar): send an APK of an app that uses it")
    try:
        name, attributes = read_root(content)
    except UnreadableBinary as problem:
        raise UnreadableAppFile(f"its AndroidManifest.xml cannot be read: {problem}") from None
    if name != "manifest":
        raise UnreadableAppFile("its AndroidManifest.xml is not a manifest")
    plain = {each.name: each.text for each in attributes if not each.namespace}
    if plain.get("split"):
        raise NotInstallable(_SPLIT)
    if _is_set(_android(attributes, _SPLITS_REQUIRED, "isSplitRequired"), "true") or _is_set(
        _android(attributes, _REQUIRED_SPLITS, "requiredSplitTypes")
    ):
        raise NotInstallable(_SPLIT)
    version = _android(attributes, _VERSION_NAME, "versionName")
    return AppFile(ANDROID, _text(plain.get("package")), _text(_resolved(version, archive, entries)))


def _as_android_reads(entry: zipfile.ZipInfo) -> zipfile.ZipInfo:
    """The entry without what packers write to hinder readers, and Android ignores: encryption, unknown compression."""
    entry.flag_bits &= ~1
    if entry.compress_type != zipfile.ZIP_DEFLATED:
        entry.compress_type = zipfile.ZIP_STORED
    return entry


def _android(attributes: Iterable[Attribute], resource_id: int, name: str) -> Attribute | None:
    """The attribute of Android's own with the id; by its name, in Android's namespace, where the file has no ids."""
    for attribute in attributes:
        if attribute.resource_id == resource_id:
            return attribute
        if not attribute.resource_id and (attribute.namespace, attribute.name) == (_NAMESPACE, name):
            return attribute
    return None


def _is_set(attribute: Attribute | None, value: str | None = None) -> bool:
    return attribute is not None and bool(attribute.text) and value in (None, attribute.text)


def _resolved(attribute: Attribute | None, archive: zipfile.ZipFile, entries: dict[str, zipfile.ZipInfo]) -> str | None:
    """The value as text; a reference ("@string/version") is looked up in the resources."""
    if attribute is None or attribute.reference is None:
        return attribute.text if attribute else None
    if _RESOURCES not in entries or entries[_RESOURCES].file_size > _MAX_RESOURCES:
        return None
    try:
        table = read_entry(archive, _as_android_reads(entries[_RESOURCES]), _MAX_RESOURCES)
        return find_text(table, attribute.reference)
    except UnreadableBinary:
        return None


def _text(value: object) -> str | None:
    """A value for people: not one that a build tool forgot to fill in."""
    text = str(value).strip() if isinstance(value, str | int | float) else ""
    is_shown = len(text) <= _TEXT_LIMIT and has_visible(text) and not has_controls(text)
    return text if is_shown and not text.startswith("$(") else None


def _shown(name: str) -> str:
    """The last part of a path, as it can be shown."""
    bare = name.rpartition("/")[2]
    return bare if len(bare) <= _TEXT_LIMIT and not has_controls(bare) else "the file"
