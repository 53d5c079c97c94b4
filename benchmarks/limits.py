"""Limits that nothing in a benchmark reaches; they are still checked, so that their cost is measured."""

HIGH = "1000000000"
ENVIRONMENT = {
    f"MOBILETEST_{name}": HIGH
    for name in (
        "ORGANISATION_REQUESTS_PER_SECOND",
        "ORGANISATION_REQUEST_BURST",
        "KEY_REQUESTS_PER_SECOND",
        "KEY_REQUEST_BURST",
        "ORGANISATION_UPLOADS",
        "ORGANISATION_STREAMS",
        "ORGANISATION_QUEUED_RUNS",
        "ORGANISATION_APPS",
        "ORGANISATION_TESTS",
        "ORGANISATION_WORKFLOWS",
        "ORGANISATION_BUILDS",
    )
}
