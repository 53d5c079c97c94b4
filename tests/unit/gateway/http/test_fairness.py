"""How many requests begin in one turn of the event loop."""

import asyncio

from services.gateway.http.fairness import PacedStarts


async def test_a_client_with_many_requests_leaves_others_their_turns() -> None:
    starts, begun = PacedStarts(at_once=2), list[str]()
    turns: list[int] = []

    async def request(client: str) -> None:
        await starts.wait(client)
        begun.append(client)

    requests = asyncio.gather(*map(request, ["many"] * 20), request("one"))
    while not requests.done():
        before = len(begun)
        await asyncio.sleep(0)
        turns.append(len(begun) - before)
    assert begun.index("one") <= 3
    assert (len(begun), max(turns)) == (21, 3)


async def test_a_request_that_is_given_up_delays_no_other() -> None:
    starts = PacedStarts(at_once=1)
    await starts.wait("a")
    requests = [asyncio.create_task(starts.wait("a")) for _ in range(3)]
    await asyncio.sleep(0)
    for request in requests[:2]:
        request.cancel()
    await asyncio.wait(requests[:2])
    await requests[2]
