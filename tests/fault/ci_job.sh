#!/usr/bin/env bash
# Plays jobs of CI against a stack: each exit code of `mobiletest` is provoked by what causes it in practice.
#
#     MOBILETEST_URL, MOBILETEST_API_KEY   the stack, and a key of an organisation with all scopes
#     LIMITED_API_KEY                      a key of an organisation with queued_runs=1
#     GATEWAY_PID                          is killed in the middle; whoever calls this starts the gateway again
#
# Runs in an empty folder, with mobiletest and junitparser on the PATH. Prints a line for each check.
set -euo pipefail
number=0 failed=0

# check NAME COMMAND...: whether the command succeeds.
check() {
    local name=$1 verdict=ok
    shift
    "$@" || { verdict='not ok' && failed=1; }
    number=$((number + 1))
    [[ $verdict == ok ]] || head -50 out err | sed "s|^|# |"
    echo "$verdict $number - $name"
}

# expect CODE NAME COMMAND...: whether the command ends with this code; its output is in out and err.
expect() {
    local wanted=$1 name=$2 code=0
    shift 2
    "$@" >out 2>err || code=$?
    [[ $code == "$wanted" ]] || echo "# ended with $code"
    check "$wanted: $name" test "$code" = "$wanted"
}

# begin NAME COMMAND...: start it as a job of its own, and wait until one of its tests runs. Its pid is in $job.
begin() {
    set -m # else it ignores SIGINT
    "$@" >out 2>err &
    job=$!
    set +m
    for ((tries = 0; tries < 600; tries++)); do
        grep -q ': running' err && return
        kill -0 "$job" || break
        sleep 0.1
    done
    echo "# does not run" && sed 's/^/# /' out err
    failed=1
}

# ends CODE NAME: whether the job that was begun ends with this code.
ends() {
    local code=0
    wait "$job" || code=$?
    [[ $code == "$1" ]] || echo "# ended with $code"
    check "$1: $2" test "$code" = "$1"
}

flow() {
    mkdir -p "$(dirname "$1")"
    printf 'appId: com.example.shop\nname: %s\n---\n- launchApp\n%s\n' "$2" "$3" >"$1"
}

flow passing/log-in.yaml 'Log in' '- assertVisible: Log in'
flow failing/log-in.yaml 'Log in' '- assertVisible: Log in'
flow failing/basket.yaml 'Basket' '- extendedWaitUntil: {visible: Your basket, timeout: 50}'
flow undecided/pay.yaml 'Pay' '- tapOn: {css: "#pay"}'
flow slow/wait.yaml 'Wait' "$(for _ in {1..40}; do echo '- assertVisible: Log in'; done)"
flow wrong/typo.yaml 'Typo' '- tapon: Log in'
echo "$RANDOM is the app" >app.apk
cat >slow.apk <<'END'
app_model: 1
app: {id: com.example.shop}
pace: {step: 500ms}
start: home
screens: {home: {elements: [{type: text, text: Log in}]}}
END
run=(mobiletest run --file app.apk --build 1)
slow=(mobiletest run --file slow.apk --build 2 slow)

expect 0 'the tests pass' "${run[@]}" passing --junit passed.xml
check 'a parser of JUnit finds that they passed' junitparser verify passed.xml
expect 1 'a test fails' "${run[@]}" failing --junit failed.xml --junit-strict
check 'a parser of JUnit finds the failure' bash -c '! junitparser verify failed.xml'
check 'step and reason are shown' grep -q '^Basket (failing/basket.yaml): failed at step 2:' out
expect 2 'an option is wrong' "${run[@]}" passing --shard 3/2
expect 3 'the key is wrong' env MOBILETEST_API_KEY=mt_wrong "${run[@]}" passing
key=$(mobiletest keys create reader --scope read --quiet)
expect 3 'the key lacks a scope' env "MOBILETEST_API_KEY=$key" "${run[@]}" passing
expect 4 'there is no such workflow' mobiletest run --workflow Nightly
expect 6 'the wait ends' "${slow[@]}" --timeout 1
execution=$(grep -o '[^/]*$' <<<"$(grep -o '/executions/[^ ]*' err | head -1)")
expect 0 'the execution is cancelled' mobiletest cancel "$execution"
expect 5 'the execution was cancelled' mobiletest wait "$execution"
expect 7 'the device cannot do what a test needs' "${run[@]}" undecided
expect 8 'nothing listens' env MOBILETEST_URL=http://127.0.0.1:1 "${run[@]}" passing --patience 0
expect 9 'a limit is exhausted' env "MOBILETEST_API_KEY=$LIMITED_API_KEY" "${run[@]}" failing --patience 0
expect 10 'a flow has a typo' "${run[@]}" wrong
check 'its line is shown' grep -q 'wrong/typo.yaml:5:3: error: unknown command "tapon"; did you mean tapOn?' err
begin "${slow[@]}" && kill -INT "$job"
ends 130 'it is interrupted'
begin "${slow[@]}" && kill -TERM "$job"
ends 143 'it is terminated'
begin "${slow[@]}" --junit survived.xml && kill -KILL "$GATEWAY_PID"
ends 0 'the gateway is killed in the middle, and comes back'
check 'the report is complete' junitparser verify survived.xml
echo "1..$number"
exit "$failed"
