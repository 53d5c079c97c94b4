#!/bin/bash
# What the container suite runs, inside of with-docker.sh:  deploy/images/suite.sh BIN   (of the Python environment)
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$1

PYTHON=$bin/python deploy/images/build.sh
"$bin/pytest" tests/images
# The same tests as on the embedded parts, now on Apache Kafka and MongoDB in containers.
TESTCONTAINERS_RYUK_DISABLED=true TC_HOST=127.0.0.1 MOBILETEST_TEST_SOURCE=containers \
    MOBILETEST_TEST_MONGO_IMAGE=mobiletest/mongo:6.0.5 MOBILETEST_TEST_KAFKA_IMAGE=mobiletest/kafka:8.1.1 \
    "$bin/pytest" -n "${WORKERS:-auto}" tests/contract tests/integration
