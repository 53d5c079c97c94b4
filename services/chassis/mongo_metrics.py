"""Metrics of the MongoDB driver: durations of commands, connections in use, time spent waiting for a connection."""

from pymongo import monitoring

from services.chassis import metrics

_commands = metrics.histogram("mobiletest_mongo_command_seconds", "Duration of commands in seconds", ["command"])
_failures = metrics.counter("mobiletest_mongo_command_failures_total", "Failed commands", ["command"])
_in_use = metrics.gauge("mobiletest_mongo_connections_in_use", "Connections in use")
_wait = metrics.histogram("mobiletest_mongo_connection_wait_seconds", "Seconds until a connection was free")


class CommandMetrics(monitoring.CommandListener):
    """Durations by the name of the command (find, update ...)."""

    def started(self, event: monitoring.CommandStartedEvent) -> None:
        """Not counted."""

    def succeeded(self, event: monitoring.CommandSucceededEvent) -> None:
        _commands.labels(event.command_name).observe(event.duration_micros / 1e6)

    def failed(self, event: monitoring.CommandFailedEvent) -> None:
        _commands.labels(event.command_name).observe(event.duration_micros / 1e6)
        _failures.labels(event.command_name).inc()


class ConnectionMetrics(monitoring.ConnectionPoolListener):
    """Connections in use, and the time until one was free."""

    def connection_checked_out(self, event: monitoring.ConnectionCheckedOutEvent) -> None:
        _in_use.inc()
        _wait.observe(event.duration or 0.0)

    def connection_checked_in(self, event: monitoring.ConnectionCheckedInEvent) -> None:
        _in_use.dec()

    def _ignore(self, event: object) -> None:
        """Not counted."""

    pool_created = pool_ready = pool_cleared = pool_closed = _ignore
    connection_created = connection_ready = connection_closed = _ignore
    connection_check_out_started = connection_check_out_failed = _ignore
