#!/bin/bash
# Runs a command with a Docker daemon of its own, unless one answers already, and leaves nothing of it behind.
#
#     deploy/images/with-docker.sh COMMAND [ARGUMENT ...]
#
# Needs root, dockerd and containerd (Debian: docker.io). Its images live as long as the command, or, if
# MOBILETEST_DOCKER_DIR names a folder, as long as that.
set -euo pipefail

if docker info >/dev/null 2>&1; then
    exec "$@"
fi

# shellcheck source=deploy/images/left_folders.sh
source "$(dirname "$0")/left_folders.sh"
remove_left_folders
folder=${MOBILETEST_DOCKER_DIR:-$(mktemp --directory --tmpdir "$FOLDER_PREFIX$$-XXXX")}
mkdir -p "$folder"
bridge_was_there=$(ip link show docker0 2>/dev/null || true)

stop() {
    kill "$daemon" 2>/dev/null || true
    wait "$daemon" 2>/dev/null || true
    if [[ -n ${MOBILETEST_DOCKER_DIR:-} ]]; then
        unmount_all "$folder"
    else
        remove_folder "$folder"
    fi
    [[ -n $bridge_was_there ]] || ip link delete docker0 2>/dev/null || true
}

# --host has a short path, because Unix sockets have short names.
dockerd --data-root "$folder/data" --exec-root "$folder/run" --pidfile "$folder/pid" --host "unix://$folder/docker.sock" \
    --live-restore=false >"$folder/dockerd.log" 2>&1 &
daemon=$!
trap stop EXIT
export DOCKER_HOST=unix://$folder/docker.sock

for _ in $(seq 60); do
    docker info >/dev/null 2>&1 && break
    if ! kill -0 "$daemon" 2>/dev/null; then
        echo "dockerd does not start here:" >&2
        tail -n 5 "$folder/dockerd.log" >&2
        exit 1
    fi
    sleep 0.5
done
docker info >/dev/null

"$@"
