#!/bin/bash
# What the container suite runs, inside of with-docker.sh:  deploy/images/suite.sh BIN   (of the Python environment)
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$1
# shellcheck source=deploy/images/names.sh
source deploy/images/names.sh

PYTHON=$bin/python deploy/images/build.sh
"$bin/pytest" -n "${WORKERS:-auto}" --dist loadfile tests/images
# The tests that use a broker, now on Apache Kafka and MongoDB in containers; the mongod is the embedded one.
TESTCONTAINERS_RYUK_DISABLED=true TC_HOST=127.0.0.1 MOBILETEST_TEST_SOURCE=containers \
    "$bin/pytest" -n "${WORKERS:-auto}" --using kafka_bootstrap,stack tests/contract tests/integration
