#!/usr/bin/env bats
# make false-alarms, with few seeds. Run from the root:
# bats tests/cli/alarms.bats

load runs

# alarms STATUS VARIABLE=VALUE...: the script ends with that status; what it
# says is then in told.
alarms() {
    local wanted="$1" status=0
    shift
    (cd "$ROOT" && env BINDIR="$BIN" OUTDIR="$BATS_TEST_TMPDIR/o" "$@" \
        ci/false-alarms.sh) > told 2> stderr 3>&- || status=$?
    [ "$status" -eq "$wanted" ] && return
    cat told stderr
    return 1
}

@test "right workers raise nothing, and all that was judged is counted" {
    alarms 0 SEEDS=2 SMOKE_SEEDS=1
    same 'judgements, false alarms: seen' "$(tail -n 1 told |
        sed -E 's/^[0-9]+ //; s/ [0-9.e+-]+ expected, 0 / /')"
    sum="$(awk '/^[0-9]+ judgements by / { sum += $1 } END { print sum }' told)"
    same "$sum" "$(tail -n 1 told | cut -d ' ' -f 1)"
    [ "$sum" -gt 10000 ]
    for check in bound exact band special fingerprint guard repeat flag \
        workspace; do
        grep -q "^[1-9][0-9]* judgements by $check$" told
    done
    grep -q ' 0 errors; 0 of 3 case files did not end' told
    # As many seeds as were asked for, in every mode.
    grep -c 'seeds: {from: 1, to: 2}' o/tiny-1.yaml > have
    grep -c '^  - name:' "$ROOT/cases/tiny.yaml" | diff - have
    grep -q 'modes: \[default,pedantic,.*bf16x9,' o/tiny-1.yaml
}

@test "every alarm is told, and its journal is kept" {
    alarms 1 SEEDS=1 SMOKE_SEEDS=0 BACKENDS=naive,faulty=one-ulp
    seen="$(tail -n 1 told | sed -E 's/.* ([0-9]+) seen$/\1/')"
    [ "$seen" -gt 10 ]
    same "$seen" "$(grep -c '^fail .*/faulty=one-ulp[./]' told)"
    [ -s o/tiny-1/results.jsonl ]
}

@test "runs that were not judged are not green" {
    alarms 3 SEEDS=1 SMOKE_SEEDS=0 BACKENDS=faulty=die-kill
    grep -q '^0 runs judged, .* errors' told
    alarms 3 SEEDS=0 SMOKE_SEEDS=0
    for seeds in -1 two 01; do
        alarms 2 SEEDS="$seeds"
        grep -q "'$seeds' is no number of seeds" stderr
    done
}
