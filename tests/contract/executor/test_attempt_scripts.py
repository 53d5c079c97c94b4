"""Scripts in the processes of attempts: what they take ends their own attempt, and the worker sends their requests."""

import pytest

from mobiletest_automation.model.failures import Category
from mobiletest_automation.scripting.http import HttpFailed, HttpRequest, HttpResponse
from services.chassis.child_process import preload
from services.executor.worker.processes.attempt_process import AttemptProcess
from services.executor.worker.processes.pool import AttemptProcesses
from services.executor.worker_app import PRELOADED
from tests.contract.executor.attempt_worlds import IN_BOTH, AttemptWorld, Children, real_processes


@pytest.fixture(scope="module", autouse=True)
def fork_server() -> None:
    preload(AttemptProcess.__module__, PRELOADED)


def script(source: str) -> dict[str, object]:
    return {"runScript": {"file": "a.js", "script": source}}


async def send(request: HttpRequest) -> HttpResponse:
    if "evil" in request.url:
        raise HttpFailed("evil is not among the hosts")
    return HttpResponse(status=200, body=f"{request.method} {request.body}", headers={})


@IN_BOTH
async def test_the_worker_sends_the_requests_of_scripts(processes: AttemptProcesses) -> None:
    world = AttemptWorld(processes, services={"http": send})
    steps = (script("output.x = http.post('http://a.b', {body: '1'}).body"), {"assertTrue": "${output.x == 'POST 1'}"})
    assert (await world.run(*steps)).failure is None
    failure = (await world.run(script("1;\nhttp.get('http://evil')"))).failure
    assert failure is not None
    assert failure.category is Category.SCRIPT_ERROR
    assert failure.message.startswith("a.js, line 2, ")
    assert failure.message.endswith("http: evil is not among the hosts")


async def test_a_script_sends_a_binary_file(processes: AttemptProcesses) -> None:
    sent: list[HttpRequest] = []

    async def take(request: HttpRequest) -> HttpResponse:
        sent.append(request)
        return HttpResponse(status=200, body="", headers={})

    async def read() -> bytes:
        return b"\x89PNG\xff\x00"

    world = AttemptWorld(processes, services={"http": take, "files": {"cat.png": read}})
    step = script("http.post('http://a.b', {multipartForm: {photo: {filePath: 'cat.png'}}})")
    assert (await world.run(step)).failure is None
    assert [(field.name, field.file, field.content) for field in sent[0].form] == [
        ("photo", "cat.png", b"\x89PNG\xff\x00")
    ]


async def test_without_a_sender_scripts_have_no_network(processes: AttemptProcesses) -> None:
    failure = (await AttemptWorld(processes).run(script("http.get('http://a.b')"))).failure
    assert failure is not None
    assert "http: not available here" in failure.message


@IN_BOTH
@pytest.mark.parametrize(
    "thrown", ["Error('\\ud83d late')", "Object.assign(Error('late'), {stack: '<input>:' + '9'.repeat(5000) + ':1'})"]
)
async def test_an_error_that_no_text_can_hold_ends_in_a_verdict(processes: AttemptProcesses, thrown: str) -> None:
    failure = (await AttemptWorld(processes).run(script(f"throw {thrown}"))).failure
    assert failure is not None
    assert failure.category is Category.SCRIPT_ERROR
    assert failure.message.endswith("late")


async def test_a_script_that_takes_too_much_costs_only_its_attempt() -> None:
    async with real_processes(Children()) as processes:
        world = AttemptWorld(processes)
        for expression, message in (
            ("Array(1e9).join('x')", "computes too long"),
            ("(() => { const a = []; for(;;) a.push(new Uint8Array(1 << 20)) })()", "out of memory"),
            ("(function f() { return f() + 1 })()", "recurses too deeply"),
        ):
            failure = (await world.run({"inputText": f"${{{expression}}}"})).failure
            assert failure is not None
            assert failure.category is Category.SCRIPT_ERROR
            assert message in failure.message
        assert (await world.run({"assertTrue": "${1 + 1 == 2}"}, {"evalScript": "${output.x = 1}"})).failure is None
