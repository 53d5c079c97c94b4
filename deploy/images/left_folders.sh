#!/bin/bash
# Folders of Docker daemons; sourced by with-docker.sh. Each is named after the process that runs its daemon.
FOLDER_PREFIX=mobiletest-docker-

# unmount_all FOLDER: what is mounted below it. Networks of containers whose processes have ended go with their mounts.
unmount_all() {
    grep -F " $1/" /proc/mounts | cut -d' ' -f2 | tac | xargs --no-run-if-empty umount || true
}

remove_folder() {
    unmount_all "$1"
    rm -rf "$1" || true
}

# Removes the folders of daemons that were killed. The networks of their containers are still attached to the bridge,
# with addresses that the next daemon gives out again: its containers then lose packets to them.
remove_left_folders() {
    local folder owner daemon
    for folder in "${TMPDIR:-/tmp}/$FOLDER_PREFIX"*; do
        owner=${folder##*/"$FOLDER_PREFIX"}
        owner=${owner%%-*}
        daemon=$(cat "$folder/pid" 2>/dev/null || true)
        if [[ -d $folder && ! -e /proc/$owner && ! -e /proc/${daemon:-none} ]]; then
            remove_folder "$folder"
        fi
    done
}
