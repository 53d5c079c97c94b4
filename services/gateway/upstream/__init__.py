"""The services behind the gateway."""
