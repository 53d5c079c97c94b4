"""The one exception that the rules of the domain raise."""


class Refused(ValueError):
    """A value that breaks a rule of the domain.

    `field` is a dotted path from the root of the request ("test_ids[2]"), `kind` a short machine word ("missing",
    "value_error").
    """

    def __init__(self, field: str, message: str, kind: str = "value_error") -> None:
        super().__init__(message)
        self.field = field
        self.message = message
        self.kind = kind
