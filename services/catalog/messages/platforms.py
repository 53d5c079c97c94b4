"""Platforms as the protos number them."""

from mobiletest.types.v1 import platform_pb2

from services.catalog.model.platforms import Platform

_NUMBERS = {Platform.IOS: platform_pb2.PLATFORM_IOS, Platform.ANDROID: platform_pb2.PLATFORM_ANDROID}
_PLATFORMS = {number: platform for platform, number in _NUMBERS.items()}


def platform_number(platform: Platform | None) -> platform_pb2.Platform:
    """The number of the platform; None is unspecified."""
    return _NUMBERS[platform] if platform is not None else platform_pb2.PLATFORM_UNSPECIFIED


def platform_set(platform: Platform | None) -> platform_pb2.Platform | None:
    """The number for an optional field; None leaves it unset."""
    return _NUMBERS[platform] if platform is not None else None


def platform(number: platform_pb2.Platform) -> Platform | None:
    """The platform of the number; unspecified is None."""
    return _PLATFORMS.get(number)
