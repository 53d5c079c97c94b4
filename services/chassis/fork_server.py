"""Imported by the fork server alone, before all other modules."""

import sys

from services.chassis.process_isolation import isolate_fork_server

if any("multiprocessing.forkserver" in argument for argument in sys.orig_argv):
    isolate_fork_server()
