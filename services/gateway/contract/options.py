"""The options that the protos carry, where the descriptors' types have no words for them."""

from typing import Any


def option(descriptor: Any, extension: Any) -> Any:
    """The extension of a descriptor's options; its default value when the proto does not set it."""
    return descriptor.GetOptions().Extensions[extension]
