"""What a key may do: pages offer no button whose operation would be refused."""

from collections.abc import Callable, Container, Mapping
from functools import cache

from services.gateway.contract.operations import all_operations


@cache
def scopes_of_operations() -> Mapping[str, str]:
    """The scope that each operation of the REST interface needs, as its proto says."""
    return {operation.name: operation.rpc.required_scope for operation in all_operations()}


def may_call(scopes: Container[str]) -> Callable[[str], bool]:
    """For templates: whether a key with these scopes may call an operation, as in `{% if may("UpdateApp") %}`.

    The function raises KeyError for a name that is no operation.
    """
    return lambda operation: scopes_of_operations()[operation] in scopes
