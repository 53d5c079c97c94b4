"""What the metadata says of uploads whose caller writes the file to the object store itself, because gRPC carries large
files at a fraction of the speed.
"""

from collections.abc import Iterable

# Of a call whose caller has the object store.
WRITES_OBJECTS = ("x-writes-objects", "true")
_KEY = "x-object-key"


def key_metadata(key: str) -> tuple[tuple[str, str], ...]:
    """The initial metadata of an upload that is accepted: where to write the file."""
    return ((_KEY, key),)


def object_key(metadata: Iterable[tuple[str, str | bytes]] | None) -> str | None:
    """The key in initial metadata."""
    return next((value for name, value in metadata or () if name == _KEY and isinstance(value, str)), None)
