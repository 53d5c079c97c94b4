"""The version of the services, which a release changes; tests/unit/test_version.py says where else it stands."""

VERSION = "0.2.0"
