# What the tests of runs share; loaded by them. Run from the root.
# shellcheck shell=bash

# shellcheck disable=SC2034 # BIN and ROOT are for the tests
setup() {
    GEMMPROOF="$(realpath "${GEMMPROOF:-build/bin/gemmproof}")"
    BIN="${GEMMPROOF%/*}"
    ROOT="$PWD"
    unset GEMMPROOF_REQUIRE_GPU
    cd "$BATS_TEST_TMPDIR" || return
}

# ends STATUS WORDS...: gemmproof with these words ends with that status; what
# it says is then in stdout and stderr.
ends() {
    local wanted="$1" status=0
    shift
    "$GEMMPROOF" "$@" > stdout 2> stderr 3>&- || status=$?
    [ "$status" -eq "$wanted" ] && return
    echo "gemmproof $*: exit $status, not $wanted"
    tail -n 20 stdout stderr
    return 1
}

# refused WORDS...: status 2, nothing on stdout, one line on stderr, and the
# folder o is not there.
refused() {
    ends 2 "$@" || return
    cat stderr
    [ ! -s stdout ] && [ "$(wc -l < stderr)" -eq 1 ] &&
        [ ! -e o ] && [ ! -e out ]
}

# says TEXT...: stderr has every one of these.
says() {
    local text
    for text in "$@"; do
        grep -qF -- "$text" stderr || {
            echo "not said: $text"
            cat stderr
            return 1
        }
    done
}

# runs FILTER: what jq makes of the run records of the journal in o, one value
# a line.
runs() {
    jq -r "select(.record == \"run\") | $1" o/results.jsonl
}

# names FOLDER: what is in it, in one line.
names() {
    (cd "$1" && printf '%s\n' * | paste -sd ' ')
}

# same WANTED GOT
same() {
    [ "$1" = "$2" ] && return
    printf 'not %s\nbut %s\n' "$1" "$2"
    return 1
}

# lacks FILE PATTERN: no line of the file matches. (A bare ! fails no test.)
lacks() {
    if grep -E -- "$2" "$1"; then
        return 1
    fi
}

# A machine that shows an NVIDIA device runs cublas for real.
without_gpu() {
    if compgen -G '/dev/nvidia*' > /dev/null ||
        grep -qs 0x10de /sys/bus/pci/devices/*/vendor; then
        skip 'this machine shows an NVIDIA device'
    fi
}

# until_done COMMAND...: wait until it succeeds, for half a minute at most.
until_done() {
    local tries
    for ((tries = 0; tries < 300; tries++)); do
        "$@" > /dev/null 2>&1 && return
        sleep 0.1
    done
    echo "in vain: $*"
    return 1
}

# gone PID: there is no such process, or only what is left of one.
gone() {
    [ ! -e "/proc/$1/stat" ] || grep -qE '\) [ZX]' "/proc/$1/stat"
}
