"""Examples as text: commands that a shell takes apart as they were meant."""

import json
import shlex
from typing import Any

from services.gateway.dashboard.reference.transcript import curl_command, response_text
from services.gateway.openapi.examples import Example, ExampleRequest, ExampleResponse

DONE: ExampleResponse = {"status": 200, "headers": {}}


def words(request: dict[str, Any], response: ExampleResponse = DONE, *, public: bool = False) -> list[str]:
    sent: ExampleRequest = {"method": "POST", "path": "/x?a=1&b=2", "headers": {}, **request}  # type: ignore[typeddict-item]
    example: Example = {"request": sent, "response": response}
    return shlex.split(curl_command(example, public=public).replace(" \\\n", ""))


def test_json_with_quotes() -> None:
    body = {"name": 'Ada\'s "shop" $HOME', "steps": ["x" * 60]}
    command = words({"json": body, "headers": {"Content-Type": "application/json"}})
    assert command[:2] == ["curl", "$MOBILETEST_URL/x?a=1&b=2"]
    assert command[2:6] == ["-H", "Authorization: Bearer $MOBILETEST_API_KEY", "-H", "Content-Type: application/json"]
    assert command[6] == "-d"
    assert json.loads(command[7]) == body


def test_methods_that_curl_would_not_choose_are_named() -> None:
    assert "-X" not in words({"json": {}})
    assert "-X" not in words({"method": "GET"})
    assert words({"method": "PUT", "json": {}})[1:3] == ["-X", "PUT"]
    assert words({"method": "DELETE"})[1:3] == ["-X", "DELETE"]
    assert words({})[1:3] == ["-X", "POST"]


def test_forms_and_files() -> None:
    form = words({"form": {"version": "1.0 b", "file": "@shop.apk"}}, public=True)
    assert form[2:] == ["-F", "version=1.0 b", "-F", "file=@shop.apk"]
    assert words({"file": "maestro.zip"}, public=True)[2:] == ["--data-binary", "@maestro.zip"]


def test_streams_and_downloads() -> None:
    get = {"method": "GET"}
    assert words(get, {"status": 200, "headers": {"Content-Type": "text/event-stream"}, "text": ""})[1] == "-N"
    assert words(get, {"status": 200, "headers": {}, "bytes": "89504e47"})[1] == "-OJ"


def test_responses() -> None:
    headers = {"Content-Type": "application/json"}
    assert response_text({"status": 201, "headers": headers, "json": {"id": 1}}).splitlines() == [
        "HTTP/1.1 201 Created",
        "Content-Type: application/json",
        "",
        '{"id":1}',
    ]
    assert response_text({"status": 204, "headers": {}}) == "HTTP/1.1 204 No Content"
    assert response_text({"status": 200, "headers": {}, "text": "a\nb", "cut": True}).endswith("\n\na\nb\n...")
    assert response_text({"status": 200, "headers": {}, "bytes": "89504e47", "cut": True}).endswith("89 50 4e 47 ...")
