"""Recordings with stable values: the same for every recording of the same story, and consistent in themselves."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

from tests.reference.stable_values import json_shape, stabilize


def recording(seconds: float) -> dict[str, Any]:
    """A story that begins so long ago, with fresh ids and keys."""
    began = datetime.now(UTC) - timedelta(seconds=seconds)

    def after(more: timedelta) -> str:
        return (began + more).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    app, secret = str(uuid4()), uuid4().hex + uuid4().hex
    return {
        "path": f"/apps/{app}",
        "app": {"id": app, "other": str(uuid4()), "created": after(timedelta())},
        "event": f'data: {{"id":"{app}","at":"{after(timedelta(seconds=seconds / 9))}","day":"{began:%Y-%m-%d}"}}',
        "expires": after(timedelta(days=14)),
        "key": f"mt_{secret[:12]}_{secret[12:50]}",
        "prefix": f"mt_{secret[:12]}",
        "etag": f'"3-{secret[:8]}"',
        "sha256": secret,
        "duration_seconds": 0.1 + seconds / 10_000,
    }


def test_recordings_of_one_story_are_equal() -> None:
    one, other = stabilize(recording(20)), stabilize(recording(100))
    assert one == other
    assert one != recording(20)


def test_what_was_equal_stays_equal() -> None:
    stable = stabilize(recording(20))
    assert stable["path"] == f"/apps/{stable['app']['id']}"
    assert f'"id":"{stable["app"]["id"]}"' in stable["event"]
    assert stable["app"]["other"] != stable["app"]["id"]
    assert stable["key"] == f"{stable['prefix']}_{'*' * 38}"


def test_times_keep_their_order_and_their_distance() -> None:
    stable = stabilize(recording(20))
    assert stable["app"]["created"] == "2026-11-20T09:15:00.000Z"
    assert '"at":"2026-11-20T09:15:00.640Z","day":"2026-11-20"' in stable["event"]
    assert stable["expires"] == "2026-12-04T09:15:00.000Z"
    assert stable["duration_seconds"] == 0.1


def test_free_form_objects_are_sorted_and_others_are_not() -> None:
    stable = stabilize(
        {**recording(1), "b": {"metadata": {"z": 1, "y": 2}}, "text": 'id: 1\ndata: {"b":1,"metadata":{"d":1,"c":2}}'}
    )
    assert list(stable["b"]["metadata"]) == ["y", "z"]
    assert stable["text"] == 'id: 1\ndata: {"b":1,"metadata":{"c":2,"d":1}}'


def test_the_shape_of_json_is_its_names_and_types() -> None:
    one = {"a": [{"b": 1}, {"b": 2.5, "c": None}], "d": {}}
    shape = {": object", ".a: array", ".a[]: object", ".a[].b: number", ".a[].c: NoneType", ".d: object"}
    assert set(json_shape(one)) == shape
    assert set(json_shape({"a": [], "d": {}})) != set(json_shape(one))
    assert set(json_shape(True)) != set(json_shape(1))
