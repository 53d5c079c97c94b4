from services.chassis.context import Caller
from services.chassis.request_interceptor import MAX_KNOWN, KnownOrganisations


async def test_each_organisation_is_asked_for_once_except_for_the_gateway() -> None:
    asked: list[str] = []

    async def find() -> None:
        asked.append("once")

    known = KnownOrganisations(find)
    for caller in (Caller("a", via_gateway=True), Caller(""), Caller("a"), Caller("a")):
        await known.check(caller)
    assert len(asked) == 1
    for number in range(MAX_KNOWN):
        await known.check(Caller(str(number)))
    asked.clear()
    await known.check(Caller("a"))
    assert asked == ["once"], "not all organisations are remembered"
