#!/bin/sh
# Gives the users of mobiletest the rights of acls.txt, with Kafka's own kafka-acls.sh:
#
#     deploy/kafka/acls.sh kafka:9092 admin.properties < deploy/kafka/acls.txt
#
# admin.properties says how an administrator of the cluster logs in. Adding a right again changes nothing.
set -eu
bootstrap=$1 config=$2
command=${KAFKA_ACLS:-kafka-acls.sh}

while read -r user operations resources; do
    case $user in '' | '#'*) continue ;; esac
    pattern=literal
    case $resources in *'*') pattern=prefixed ;; esac
    set -- --add --force --allow-principal "User:$user" --resource-pattern-type "$pattern"
    for operation in $(echo "$operations" | tr , ' '); do
        set -- "$@" --operation "$operation"
    done
    set -f # a * is part of a name
    for resource in $resources; do
        name=${resource#*:}
        set -- "$@" "--${resource%%:*}" "${name%'*'}"
    done
    set +f
    "$command" --bootstrap-server "$bootstrap" --command-config "$config" "$@" </dev/null
done
