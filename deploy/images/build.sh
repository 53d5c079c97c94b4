#!/bin/bash
# Makes container images without a registry: a base from Debian packages, ours on it, and the servers that the container
# suite needs from the same artifacts as elsewhere (mongod from the wheel, Apache Kafka from Maven Central).
#
#     deploy/images/build.sh [base] [app|mongo|kafka ...]     (all of them without arguments; DOCKER_HOST is honoured)
#
# Needs root (mmdebstrap), docker, for mongo PYTHON with the embedded mongod, for kafka Maven.
# shellcheck disable=SC2317 # the functions of images are called by their names
set -euo pipefail
cd "$(dirname "$0")/../.."

# shellcheck source=deploy/images/names.sh
source deploy/images/names.sh
PYTHON=${PYTHON:-.venv/bin/python}
export DOCKER_BUILDKIT=0 # the builder that needs no plugin

# The host's certificates go in, because a machine behind a proxy has its own.
base() {
    # shellcheck disable=SC2016 # the hook knows what $1 is
    mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,ca-certificates \
        --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
        --customize-hook='ln -s python3 "$1/usr/bin/python"' \
        --customize-hook='copy-in /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs' \
        bookworm - ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"} | docker import - "$BASE_IMAGE"
}

app() {
    docker build --quiet --build-arg "BASE_IMAGE=$BASE_IMAGE" --tag "$APP_IMAGE" .
}

mongo() {
    cp deploy/images/mongo/Dockerfile "$scratch"
    cp "$("$PYTHON" -c 'from deploy.local.binaries import mongod; print(mongod().path)')" "$scratch/mongod"
    docker build --quiet --build-arg "BASE_IMAGE=$BASE_IMAGE" --tag "$MOBILETEST_MONGO_IMAGE" "$scratch"
}

kafka() {
    cp deploy/images/kafka/* "$scratch"
    mvn --quiet --batch-mode --file "$scratch/pom.xml" "-Dkafka.version=$KAFKA_VERSION" dependency:copy-dependencies \
        -DincludeScope=runtime "-DoutputDirectory=$scratch/libs"
    docker build --quiet --build-arg "BASE_IMAGE=$BASE_IMAGE" --tag "$MOBILETEST_KAFKA_IMAGE" "$scratch"
}

build() ( # a shell of its own, for the trap
    scratch=$(mktemp --directory)
    trap 'rm -rf "$scratch"' EXIT
    echo "== $1"
    "$1"
)

[[ $# -gt 0 ]] || set -- base app mongo kafka
if [[ $1 == base ]]; then # which the others build on
    build base
    shift
fi
builds=()
for image in "$@"; do
    build "$image" &
    builds+=($!)
done
failed=0
for pid in "${builds[@]}"; do
    wait "$pid" || failed=1
done
exit "$failed"
