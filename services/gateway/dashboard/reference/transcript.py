"""Examples as text: the request as a curl command, and the response as it is sent."""

import shlex
from collections.abc import Iterator
from http import HTTPStatus

import orjson

from services.gateway.openapi.examples import Example, ExampleRequest, ExampleResponse

URL, KEY = "MOBILETEST_URL", "MOBILETEST_API_KEY"
"""The environment variables of the command line."""
_BODIES = ("json", "form", "file")
_SHORT = 60


def curl_command(example: Example, *, public: bool) -> str:
    """A command for a shell in which the two variables are set; public operations need no key."""
    request = example["request"]
    return " \\\n  ".join([_first_line(example), *_options(request, public=public)])


def response_text(response: ExampleResponse) -> str:
    """The status line, the headers and the body; JSON is indented."""
    status = response["status"]
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in response["headers"].items()]
    body = _body(response)
    return "\n".join([*lines, "", body] if body else lines)


def _first_line(example: Example) -> str:
    request, response = example["request"], example["response"]
    words = ["curl"]
    if response["headers"].get("Content-Type") == "text/event-stream":
        words.append("-N")
    if "bytes" in response or "Content-Disposition" in response["headers"]:
        words.append("-OJ")
    implied = "POST" if any(name in request for name in _BODIES) else "GET"
    if request["method"] != implied:
        words.append(f"-X {request['method']}")
    return " ".join([*words, f'"${URL}{request["path"]}"'])


def _options(request: ExampleRequest, *, public: bool) -> Iterator[str]:
    if not public:
        yield f'-H "Authorization: Bearer ${KEY}"'
    for name, value in request["headers"].items():
        yield f"-H {shlex.quote(f'{name}: {value}')}"
    if "json" in request:
        yield f"-d {shlex.quote(_json(request['json']))}"
    for name, value in request.get("form", {}).items():
        yield f"-F {shlex.quote(f'{name}={value}')}"
    if "file" in request:
        yield f"--data-binary @{shlex.quote(request['file'])}"


def _body(response: ExampleResponse) -> str:
    if "json" in response:
        return _json(response["json"])
    if "bytes" in response:
        return f"{bytes.fromhex(response['bytes']).hex(' ')} ..."
    text = response.get("text", "").rstrip()
    return f"{text}\n..." if response.get("cut") else text


def _json(value: object) -> str:
    """On one line if that is short."""
    line = orjson.dumps(value).decode()
    return line if len(line) <= _SHORT else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
