"""The example workspace of `make run`, which each start of the stack loads."""

import pytest

from examples import load
from tests.e2e.client import Api, created


async def test_examples_that_have_run_are_not_run_again(api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    await load.main(api.url, str(api.key))
    first = created(await api.get("/executions"))
    table = capsys.readouterr().out
    await load.main(api.url, str(api.key))
    assert capsys.readouterr().out.partition("\n") == (
        "The examples have run before, and are not run again: these are their verdicts.",
        "\n",
        table,
    )
    again = created(await api.get("/executions"))
    assert (first["total"], again["total"]) == (4, 4)
