"""Which pools can run a build."""

from collections.abc import Sequence

from mobiletest_automation.devices.port import Build, DeviceFailure
from mobiletest_automation.model.failures import Category
from mobiletest_automation.web_addresses import AddressRefused
from services.executor.pools.pool import Pool


def suitable_pools(pools: Sequence[Pool], platform: str, build: Build) -> list[Pool]:
    """The pools that can run the build: browsers run only web builds, which prefer them.

    Raises:
        DeviceFailure: there is none.
    """
    pools = [pool for pool in pools if pool.accepts(build.org_id)]
    if not pools:
        raise DeviceFailure(Category.CONFIG_INVALID, f"no device pool for {platform} is configured")
    if build.skips_install and build.static_url is None:
        pools = _keeping_apps(pools)
    browsers = [pool for pool in pools if pool.hub is not None and pool.hub.opens_browsers]
    if build.static_url is not None:
        return _allowing(browsers, build.static_url) if browsers else pools
    if len(browsers) == len(pools):
        raise DeviceFailure(
            Category.CONFIG_INVALID,
            f"every device pool for {platform} has browsers, which only run builds with a static_url",
        )
    return [pool for pool in pools if pool not in browsers]


def _keeping_apps(pools: Sequence[Pool]) -> list[Pool]:
    """The pools on which a test may use an app that is already installed. Raise DeviceFailure if there are none."""
    found = [pool for pool in pools if pool.hub is None or pool.organisation is not None]
    if not found:
        raise DeviceFailure(
            Category.CONFIG_INVALID,
            "skip_app_install needs devices that only your organisation uses, because others are cleaned after a run: "
            "leave it out, or ask the operator to dedicate a device pool to your organisation",
        )
    return found


def _allowing(browsers: Sequence[Pool], page: str) -> list[Pool]:
    """The pools that may open the page. Raise DeviceFailure if there are none."""
    pools, refusal = list[Pool](), ""
    for pool in browsers:
        if pool.hub is None:
            continue
        try:
            pool.hub.addresses.check(page)
        except AddressRefused as error:
            refusal = str(error)
        else:
            pools.append(pool)
    if not pools:
        raise DeviceFailure(Category.CONFIG_INVALID, f"the app's static_url cannot be opened: {refusal}")
    return pools
