#!/bin/sh
# redis-cli as people use it: arguments, RESP3, input from a pipe, mass insertion, TLS.
failed=0
options="-p $PORT"

cli() {
    timeout 20 redis-cli $options "$@"
}

# check <name> <wanted, a grep -E pattern for the whole output> <what came>
check() {
    if printf '%s\n' "$3" | tr '\n' '~' | grep -Eq "^($2)~*\$"; then
        echo "ok redis-cli: $1"
    else
        echo "not ok redis-cli: $1"
        printf '%s\n' "wanted $2" "got $3" | sed 's/^/#   /'
        failed=1
    fi
}

ID='D-[0-9a-f]{8}-[A-Za-z0-9+/]{24}-[0-9a-f]{4}'

check "PING" 'PONG' "$(cli PING)"
check "ADDJOB" "$ID" "$(cli ADDJOB cli one 0)"
check "GETJOB" "cli~$ID~one" "$(cli GETJOB FROM cli)"
check "GETJOB with nothing there" '' "$(cli GETJOB NOHANG FROM cli)"
check "GETJOB with nothing there, for people" '\(nil\)' "$(cli --no-raw GETJOB NOHANG FROM cli)"
check "QLEN for people" '\(integer\) 0' "$(cli --no-raw QLEN cli)"
check "an error" 'BADID Invalid Job ID format: got "foo"\..*' "$(cli SHOW foo)"
check "an error's exit status with -e" '1' "$(cli -e SHOW foo >/dev/null 2>&1; echo $?)"
check "RESP3" '\(nil\)' "$(cli -3 --no-raw GETJOB NOHANG FROM cli)"
check "RESP3 with a job" "$ID" "$(cli -3 ADDJOB cli three 0)"
check "RESP3 getting it" "cli~$ID~three" "$(cli -3 GETJOB NOHANG FROM cli)"
check "the last argument from standard input" "$ID" "$(printf 0 | cli -x ADDJOB cli-x body)"
check "commands from standard input" "$ID~\"?1\"?~PONG" "$(printf 'ADDJOB stdin x 0\nQLEN stdin\nPING\n' | cli)"
check "database 0 with -n" 'PONG' "$(cli -n 0 PING)"
check "a wait that ends" '' "$(cli GETJOB TIMEOUT 100 FROM nothing)"
check "INFO" '.*blocked_clients:0.*' "$(cli INFO)"
check "repeated with -r" 'PONG~PONG~PONG' "$(cli -r 3 PING)"

check "database 1 is refused" '.*DB index is out of range.*' "$(cli -n 1 QLEN cli 2>&1)"

cli ADDJOB scanned:1 x 0 >/dev/null
cli ADDJOB scanned:2 x 0 >/dev/null
check "--scan" 'scanned:1~scanned:2' "$(cli --scan --pattern 'scanned:*' | sort)"
check "--memkeys" '.*Sampled [1-9][0-9]* keys in the keyspace!.*Biggest   list found .* has [0-9]+ bytes.*' "$(cli --memkeys 2>&1)"
check "--bigkeys" '.*Sampled [1-9][0-9]* keys in the keyspace!.*Biggest   list found .* has [0-9]+ items.*' \
    "$(cli --bigkeys 2>&1)"
check "EXISTS" '2' "$(cli EXISTS scanned:1 scanned:2 none)"

mass() {
    i=0
    while [ $i -lt 500 ]; do
        printf '*4\r\n$6\r\nADDJOB\r\n$4\r\nmass\r\n$4\r\nbody\r\n$1\r\n0\r\n'
        i=$((i + 1))
    done
}
check "mass insertion with --pipe" '.*errors: 0, replies: 500~?' "$(mass | cli --pipe)"
check "mass insertion has all the jobs" '500' "$(cli QLEN mass)"

waiting() {
    cli GETJOB FROM waited >"$1" &
    waiter=$!
    n=0
    until cli INFO clients | grep -q 'blocked_clients:1' || [ $n -gt 500 ]; do n=$((n + 1)); done
    cli ADDJOB waited here 0 >/dev/null
    wait "$waiter"
    cat "$1"
    rm -f "$1"
}
check "a wait that is served" "waited~$ID~here" "$(waiting "$(mktemp)")"

cd "$CERTIFICATES" || exit 1
megabyte() {
    printf 'ADDJOB large '
    head -c 1000000 /dev/zero | tr '\0' x
    printf ' 0\n'
}

# with_tls <name> <user>
with_tls() {
    check "the user $1" "$2" "$(cli ACL WHOAMI)"
    check "ADDJOB $1" "$ID" "$(cli ADDJOB cli-tls one 0)"
    job=$(cli GETJOB FROM cli-tls)
    check "GETJOB $1" "cli-tls~$ID~one" "$job"
    check "ACKJOB $1" '1' "$(cli ACKJOB "$(printf '%s\n' "$job" | sed -n 2p)")"
    check "a wait that is served $1" "waited~$ID~here" "$(waiting "$(mktemp)")"
    check "adding a body of a megabyte $1" "$ID" "$(megabyte | cli)"
    check "getting a body of a megabyte $1" '1000001' "$(cli GETJOB FROM large | tail -n 1 | wc -c)"
    check "mass insertion $1" '.*errors: 0, replies: 500~?' "$(mass | cli --pipe)"
}

if redis-cli --help 2>&1 | grep -q -e --tls; then
    options="--tls --cacert ca.crt -p $TLS_PORT"
    with_tls "with TLS" default
    options="--tls --cacert ca.crt --cert client.crt --key client.key -p $TLS_PORT"
    with_tls "with a certificate" alice
    options="--tls -p $TLS_PORT"
    check "an unknown authority" '.*certificate verify failed.*' "$(cli PING 2>&1)"
else
    echo "ok redis-cli with TLS # SKIP this redis-cli has no TLS"
fi

exit $failed
