#!/usr/bin/env bash
# Everything a change must pass: make check. Says how long each step took;
# the first that fails stops it, with its output. The last line on standard
# output counts tests: N passed, N failed (a step that fails without one counts
# as one).
# shellcheck disable=SC2317 # the steps are called by name
set -u -o pipefail
cd "$(dirname "$0")/.." || exit 2
# A make above this one has given us its knobs in the environment; its flags
# are not ours.
unset MAKEFLAGS MFLAGS
jobs=$(nproc)
logs=build/check
passed=0
failed=0
began=$SECONDS

finish() {
    echo "check: $((SECONDS - began)) s"
    echo "$passed passed, $failed failed"
    exit $((failed > 0))
}

# step NAME COMMAND...: its output goes to a log and is only shown if it fails.
step() {
    local name=$1 log start=$EPOCHREALTIME status took
    shift
    log=$logs/${name// /-}.log
    note=
    "$@" >"$log" 2>&1
    status=$?
    took=$(awk -v a="$start" -v b="$EPOCHREALTIME" \
        'BEGIN { printf "%6.1f s", b - a }')
    if [ "$status" -eq 0 ]; then
        echo "$took  $name${note:+: $note}"
        return 0
    fi
    cat "$log"
    echo "$took  $name: FAILED${note:+: $note}"
    return 1
}

# A step without tests of its own.
must() {
    step "$@" && return 0
    failed=$((failed + 1))
    finish
}

build() {
    local where=$1
    shift
    make -j"$jobs" BUILDDIR="build/$where" WERROR=1 "$@" all "build/$where/unit"
}

# Add up the TAP in the files of a folder; fails unless the command that wrote
# them succeeded, every plan was kept, and something was tested.
count_tap() {
    local status=$1 folder=$2 counts good bad skipped broken
    counts=$(awk '
        # Each file says once how many tests it is about.
        function close_file() {
            if (file != "" && (plan == "" || plan != seen))
                broken++
            plan = ""
            seen = 0
        }
        FNR == 1 { close_file(); file = FILENAME }
        /^1\.\.[0-9]+/ { plan = substr($1, 4) + 0 }
        /^not ok / { seen++; bad++ }
        /^ok / { seen++ }
        /^ok .*# *[Ss][Kk][Ii][Pp]/ { skipped++; next }
        /^ok / { good++ }
        END {
            close_file()
            print good + 0, bad + 0, skipped + 0, broken + 0
        }' "$folder"/*.tap)
    read -r good bad skipped broken <<<"$counts"
    note="$good passed, $bad failed"
    [ "$skipped" -eq 0 ] || note+=", $skipped skipped"
    if [ "$bad" -eq 0 ] && { [ "$status" -ne 0 ] || [ "$broken" -ne 0 ]; }; then
        echo "check: the tests ended early (exit status $status)"
        bad=1
    elif [ "$bad" -eq 0 ] && [ "$good" -eq 0 ]; then
        echo "check: no test was run"
        bad=1
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
    [ "$bad" -eq 0 ]
}

units() {
    local where=build/$1/tap-unit
    rm -rf "$where"
    mkdir -p "$where"
    : >"$where/unit.tap"
    "build/$1/unit" --tap="$where/unit.tap" -j"$jobs"
    count_tap $? "$where"
}

command_line() {
    local where=build/$1/tap-cli
    rm -rf "$where"
    mkdir -p "$where"
    # One bats for each file, as many at a time as there are cores; the
    # longest first, so that none is left alone at the end.
    # shellcheck disable=SC2016 # $1 and $2 are of the inner shell
    wc -c tests/cli/*.bats | awk '$2 != "total" { print $1, $2 }' |
        sort -rn | cut -d ' ' -f 2 | tr '\n' '\0' |
        GEMMPROOF=build/$1/bin/gemmproof xargs -0 -P "$jobs" -I {} bash -c '
            bats -F tap "$2" >"$1/$(basename "$2").tap"
        ' - "$where" {}
    count_tap $? "$where" && return 0
    grep -hvE '^(ok |1\.\.)' "$where"/*.tap
    return 1
}

tests() {
    step "$@" && return 0
    [ "$failed" -gt 0 ] || failed=1
    finish
}

rm -rf build/check-gcc build/check-clang build/check-san "$logs"
mkdir -p "$logs"
export UBSAN_OPTIONS=print_stacktrace=1
must "lint" ci/lint.sh
must "build gcc" build check-gcc CC=gcc
tests "unit gcc" units check-gcc
tests "cli gcc" command_line check-gcc
must "build clang" build check-clang CC=clang
must "build sanitizers" build check-san CC=gcc SANITIZE=1 CUDA=0
tests "unit sanitizers" units check-san
tests "cli sanitizers" command_line check-san
finish
