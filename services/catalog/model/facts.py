"""What the catalog announces: the whole entity as it is after a change, with its revision."""

from typing import TypeAlias

from services.catalog.model.apps import App
from services.catalog.model.attachments import Attachment
from services.catalog.model.builds import Build
from services.catalog.model.keys import ApiKey
from services.catalog.model.tests import Test

Fact: TypeAlias = App | Build | Test | Attachment | ApiKey
