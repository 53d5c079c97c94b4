#!/bin/sh
# Prints the environment of an installation: a random token for each caller, and MOBILETEST_CALLERS, by which the services
# that are called know them. See docs/security.md.
set -eu
callers=
for caller in gateway executor-api executor-worker reporting operator; do
    token=$(openssl rand -hex 24)
    digest=$(printf %s "$token" | openssl dgst -sha256 -r | cut -d ' ' -f 1)
    callers="$callers,$caller=$digest"
    echo "MOBILETEST_TOKEN_$(echo "$caller" | tr a-z- A-Z_)=$token"
done
echo "MOBILETEST_CALLERS=${callers#,}"
