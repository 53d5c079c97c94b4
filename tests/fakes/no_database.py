"""For what asks for a collection, but neither reads nor writes it."""

from typing import cast

from services.chassis.mongo import Mongo


class NoDatabase:
    """Has every collection, none of which can do anything."""

    def collection(self, name: str) -> object:
        return object()


def no_database() -> Mongo:
    return cast(Mongo, NoDatabase())
