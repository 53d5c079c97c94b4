"""Archives of workspaces, as clients send them."""

import io
import zipfile
from collections.abc import Mapping

FLOW = "appId: com.example.notes\n---\n- launchApp\n"
# Enough to be taken for a picture.
PNG = b"\x89PNG\r\n\x1a\n picture"


def zip_files(files: Mapping[str, str | bytes]) -> bytes:
    """A zip archive of files by their paths; the same files make the same bytes at any time."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        for path, content in files.items():
            packed.writestr(zipfile.ZipInfo(path), content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()
